'use strict';
// Merges a place: a value that each version has, or has not.

const { orderOf } = require('./order');
const { RULES, newest } = require('./rules');
const { ruleOf } = require('./schema');
const { conflictOf, source } = require('./result');
const { NATURAL_KEYS, compareText, isEqual, memberOf, pathTo } = require('./value');
const { sourceOf } = require('./text');
const { mergeGroup } = require('./groups');
const { mergeList, mergeSingleRecords } = require('./lists');

/** One merge of three documents. */
class Merge {
  /**
   * @param {{base, ours, theirs}} roots the roots; base is null if there is none
   * @param {import('./schema').Schemas} schemas
   */
  constructor(roots, schemas) {
    this.roots = roots;
    this.schemas = schemas;
    this.superseded = [];
  }

  /**
   * @param {{base, ours, theirs, schema, path}} place each version's value, or null
   * @returns {object|null} a result; null if the merge leaves the place out
   */
  place(place) {
    const { base, ours, theirs, schema } = place;
    const rule = ruleOf(schema);
    if (isEqual(ours, theirs) || isEqual(theirs, base)) return source(ours);
    if (isEqual(ours, base)) return this.inLayoutOfOurs(place, rule);
    if (rule.strategy === 'newest') return source(newest(ours, theirs, rule.by, this.roots));
    if (ours === null || theirs === null) return conflictOf(place);
    if (Object.hasOwn(RULES, rule.strategy || '')) {
      return source(RULES[rule.strategy](base, ours, theirs, rule)) || conflictOf(place);
    }
    if (rule.strategy === 'atomic') return conflictOf(place);
    return mergeSingleRecords(this, place) || this.container(place) || conflictOf(place);
  }

  /** Two objects or two lists; null for anything else. */
  container(place) {
    const kind = place.ours.kind === place.theirs.kind ? place.ours.kind : '';
    const before = place.base && place.base.kind === kind ? place.base : null;
    if (kind === 'object') return this.object({ ...place, before });
    return kind === 'list' ? mergeList(this, { ...place, before }) : null;
  }

  /** Only theirs changed the place. Where ours is laid out anew, only the change is theirs'. */
  inLayoutOfOurs(place, rule) {
    const { base, ours, theirs } = place;
    const isLaidOutAnew = ours && theirs && sourceOf(ours) !== sourceOf(base);
    const merged = isLaidOutAnew && rule.strategy !== 'atomic' ? this.container(place) : null;
    return merged || source(theirs);
  }

  /** Two objects. `before` is base, if that is an object as well. */
  object(place) {
    const { before, ours, theirs, schema, path } = place;
    if (isTwoThings(before, ours, theirs)) return conflictOf(place);
    const keys = [before, ours, theirs].map((one) => (one ? [...one.byKey.keys()] : []));
    const [order] = orderOf(...keys, compareText, { wholeRuns: false, mayChoose: true });
    const merged = new Map();
    const memberAt = (key) => ({ base: memberOf(before, key), ours: memberOf(ours, key),
      theirs: memberOf(theirs, key), schema: this.schemas.ofMember(schema, key),
      path: pathTo(path, key) });
    for (const group of this.schemas.groupsOf(schema)) {
      const members = group.keys.filter((key) => memberOf(ours, key) || memberOf(theirs, key));
      const places = new Map(members.map((key) => [key, memberAt(key)]));
      mergeGroup(this, group.rule, places, place).forEach((one, key) => merged.set(key, one));
    }
    for (const key of order) {
      if (!merged.has(key)) merged.set(key, this.place(memberAt(key)));
    }
    const entries = order.map((key) => ({ key, value: merged.get(key) }));
    return { type: 'object', shape: ours, other: theirs,
      entries: entries.filter((entry) => entry.value !== null) };
  }
}

/** Whether the sides are two different things, by a member that names them. */
function isTwoThings(before, ours, theirs) {
  const key = NATURAL_KEYS.find((name) => memberOf(ours, name) && memberOf(theirs, name));
  if (key === undefined) return false;
  const [name, mine, yours] = [before, ours, theirs].map((one) => memberOf(one, key));
  return !isEqual(mine, yours) && !isEqual(mine, name) && !isEqual(yours, name);
}

module.exports = { Merge };
