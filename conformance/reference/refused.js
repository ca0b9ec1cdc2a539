'use strict';
// Finds what a merge would misread in a schema: such a schema is refused.

const HOLDS_ONE = ['items', 'additionalProperties'];
const HOLDS_MANY = ['properties', 'patternProperties', '$defs', 'definitions'];
const NOT_READ = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'contains',
  'dependentSchemas', 'dependencies', 'propertyNames', 'unevaluatedItems',
  'unevaluatedProperties', 'additionalItems'];
const STEPS = ['steps', 'key', 'at', 'current', 'status', 'begin', 'end'];

/** The schema is not one that can be followed. */
class SchemaError extends Error {}

/** Whether a plain value is an object of JSON. */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isName = (value) => typeof value === 'string' && value !== '';
const isMember = (value) => typeof value === 'string' && /^\/[^/~]+$/.test(value);
const isPointer = (value) => typeof value === 'string' && /^(\/[^/~]+)+$/.test(value);
const isListOf = (value, isItem) => Array.isArray(value) && value.length > 0
  && value.every(isItem) && new Set(value).size === value.length;
const isOrder = (value) => isListOf(value, (item) => typeof item === 'string') && value.length > 1;
const isKey = (value) => isMember(value) || isListOf(value, isMember);
const isLimit = (value) => Number.isInteger(value) && value > 0;
const isRank = (value) => isListOf(value, (entry) => isObject(entry) && isMember(entry.at)
  && isOrder(entry.order) && Object.keys(entry).length === 2);
const isFields = (value) => isObject(value) && Object.keys(value).length > 0
  && Object.keys(value).every(isMember);

// For each strategy its options; those in `needs` must be there.
const STRATEGIES = {
  atomic: {}, object: {}, 'max-time': {}, 'min-time': {}, 'max-number': {}, sum: {}, set: {},
  sequence: {}, tuple: {},
  max: { needs: ['order'], order: isOrder },
  newest: { needs: ['by'], by: isPointer },
  log: { key: isKey, sort: isMember, limit: isLimit },
  rows: { needs: ['key'], key: isKey, added: (value) => value === 'merge' },
  queue: { needs: ['key'], key: isKey },
  group: { needs: ['name'], name: isName, by: isPointer, superseded: isName, newest: isPointer,
    same: (value) => isListOf(value, isMember), rank: isRank },
};

/** Refuses a rule that nobody knows. */
function checkRule(rule) {
  if (!isObject(rule) || !Object.hasOwn(STRATEGIES, rule.strategy || '')) {
    throw new SchemaError('an unknown strategy');
  }
  const { needs = [], ...options } = STRATEGIES[rule.strategy];
  const missing = needs.find((option) => !Object.hasOwn(rule, option));
  if (missing) throw new SchemaError(`${rule.strategy} needs ${missing}`);
  for (const [option, value] of Object.entries(rule)) {
    const isKnown = option === 'strategy' || Object.hasOwn(options, option);
    if (!isKnown) throw new SchemaError(`${rule.strategy} knows no ${option}`);
    if (option !== 'strategy' && !options[option](value)) throw new SchemaError(`a bad ${option}`);
  }
}

/** Refuses a rule where the merge does not look. */
function checkUnread(value) {
  if (isObject(value) && Object.hasOwn(value, 'x-merge')) {
    throw new SchemaError('x-merge where it is not read');
  }
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(checkUnread);
}

/** Refuses members of one group that disagree, or that name what is not in the group. */
function checkGroups(properties) {
  const groups = new Map();
  for (const [key, schema] of Object.entries(properties)) {
    const rule = isObject(schema) ? schema['x-merge'] : undefined;
    if (!isObject(rule) || rule.strategy !== 'group') continue;
    if (!groups.has(rule.name)) groups.set(rule.name, { rule, keys: [] });
    const group = groups.get(rule.name);
    group.keys.push(key);
    if (sortedText(rule) !== sortedText(group.rule)) throw new SchemaError('a group disagrees');
  }
  for (const { rule, keys } of groups.values()) {
    const named = [...(rule.same || []), ...(rule.rank || []).map((entry) => entry.at)];
    if (rule.newest) named.push(`/${rule.newest.split('/')[1]}`);
    const isThere = named.every((pointer) => keys.includes(pointer.slice(1)));
    if (!isThere) throw new SchemaError('a group names another member');
    if (rule.superseded && !rule.by) throw new SchemaError('superseded needs by');
  }
}

/** A plain value as text, the same for objects whose members are in another order. */
function sortedText(value) {
  return JSON.stringify(value, (key, found) => (isObject(found)
    ? Object.fromEntries(Object.entries(found).sort()) : found));
}

/** Refuses a schema, or one inside it, that a merge would misread. */
function checkPlace(schema) {
  if (!isObject(schema)) return;
  if (Object.hasOwn(schema, 'x-merge')) {
    if (Object.hasOwn(schema, '$ref')) throw new SchemaError('x-merge beside a reference');
    checkRule(schema['x-merge']);
  }
  for (const name of NOT_READ) checkUnread(schema[name]);
  if (Array.isArray(schema.items)) checkUnread(schema.items);
  for (const name of HOLDS_ONE) checkPlace(schema[name]);
  if (Array.isArray(schema.prefixItems)) schema.prefixItems.forEach(checkPlace);
  for (const name of HOLDS_MANY) {
    if (isObject(schema[name])) Object.values(schema[name]).forEach(checkPlace);
  }
  if (isObject(schema.properties)) checkGroups(schema.properties);
  for (const [pattern, below] of Object.entries(schema.patternProperties || {})) {
    if (!/^\^[\p{L}\p{N}\s_/:@#%&=!<>,;"'~`-]*$/u.test(pattern)) checkUnread(below);
  }
}

/** Whether a plain value is a requirement of a known form. */
function isRequirement(value) {
  if (!isObject(value)) return false;
  const { same, where, steps, ...rest } = value;
  const names = Object.keys(rest);
  if (same !== undefined) return isMember(same) && Object.keys(value).length === 1;
  if (where !== undefined) {
    return isMember(where) && isFields(rest.non_empty_when)
      && names.every((name) => name === 'non_empty_when'
        || (name === 'empty_with' && isFields(rest.empty_with)));
  }
  return STEPS.every((name) => isMember(value[name])) && isOrder(value.order) && isName(value.done)
    && names.length === STEPS.length + 1;
}

/** Refuses a schema that a merge would misread. */
function checkSchema(schema) {
  if (!isObject(schema)) throw new SchemaError('a schema is an object');
  checkPlace(schema);
  const requirements = schema['x-merge-require'] || [];
  if (!Array.isArray(requirements) || !requirements.every(isRequirement)) {
    throw new SchemaError('a requirement of another form');
  }
}

module.exports = { SchemaError, checkSchema, isObject };
