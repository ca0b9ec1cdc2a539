'use strict';
// Finds the schema of a place, and the rule in it. A schema is a plain object.

const { checkSchema, isObject } = require('./refused');
const { namesIn } = require('./value');

const MOST_REFERENCES = 8;
/** The rules of one schema file. */
class Schemas {
  constructor(root) {
    checkSchema(root);
    this.file = root;
    this.root = this.follow(root);
  }

  /** What a schema stands for, if it is a reference. */
  follow(schema) {
    let found = isObject(schema) ? schema : {};
    for (let count = 0; count < MOST_REFERENCES && typeof found.$ref === 'string'; count += 1) {
      if (!found.$ref.startsWith('#/')) {
        const { $ref, ...rest } = found;
        return rest;
      }
      let target = this.file;
      for (const name of namesIn(found.$ref)) {
        target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined;
      }
      if (!isObject(target)) return {};
      found = target;
    }
    return found;
  }

  /** The schema of a member. */
  ofMember(schema, key) {
    const { properties, patternProperties, additionalProperties } = schema;
    if (isObject(properties) && Object.hasOwn(properties, key)) {
      return this.follow(properties[key]);
    }
    if (isObject(patternProperties)) {
      for (const [pattern, found] of Object.entries(patternProperties)) {
        if (pattern.startsWith('^') && key.startsWith(pattern.slice(1))) return this.follow(found);
      }
    }
    return this.follow(additionalProperties);
  }

  /** The schema of an item; of the item at an index, if one is given. */
  ofItem(schema, index) {
    const { prefixItems } = schema;
    if (index !== undefined && Array.isArray(prefixItems) && index < prefixItems.length) {
      return this.follow(prefixItems[index]);
    }
    return this.follow(schema.items);
  }

  /** The members under `properties` with the rule `group`, as a list of [name, rule, keys]. */
  groupsOf(schema) {
    const groups = new Map();
    for (const key of isObject(schema.properties) ? Object.keys(schema.properties) : []) {
      const rule = ruleOf(this.follow(schema.properties[key]));
      if (rule.strategy !== 'group') continue;
      if (!groups.has(rule.name)) groups.set(rule.name, { rule, keys: [] });
      groups.get(rule.name).keys.push(key);
    }
    return [...groups.values()];
  }
}

/** The rule of a schema; {} if it has none. */
function ruleOf(schema) {
  return isObject(schema['x-merge']) ? schema['x-merge'] : {};
}

/** The names of the members that are a rule's key, or null. */
function keyOf(rule) {
  return rule.key === undefined ? null : [rule.key].flat().map((pointer) => namesIn(pointer)[0]);
}

/** What kind of list a schema describes: a strategy, 'set', 'tuple', or '' for unknown. */
function listKindOf(schema) {
  const { strategy } = ruleOf(schema);
  if (strategy) return strategy;
  const { prefixItems, maxItems, minItems } = schema;
  if (Array.isArray(prefixItems) && prefixItems.length) return 'tuple';
  if (maxItems !== undefined && maxItems === minItems) return 'tuple';
  return schema.uniqueItems === true ? 'set' : '';
}

module.exports = { Schemas, keyOf, listKindOf, ruleOf };
