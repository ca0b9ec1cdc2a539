'use strict';
// Lists: which kind a list is, and what tells its items apart.

const { mergeByIdentity, keyTextOf, identitiesOf, orderOfIdentities } = require('./keyed');
const { keyOf, listKindOf, ruleOf } = require('./schema');
const { mergeInOrder } = require('./sequence');
const { NATURAL_KEYS, canonOf, isEqual, memberOf, sharedEnds } = require('./value');
const { align, hunksOf } = require('./align');

const STABLE_KEYS = ['key', 'title', 'subject', 'content', 'description', 'text', 'label'];
const BY_KEY = ['set', 'log', 'rows', 'queue'];

/** The items of a version; none if it is absent. */
function itemsOf(node) {
  return node ? node.items : [];
}

/**
 * Cuts what all three lists begin and end with.
 * @returns {{lists: object, middles: object, head: number, tail: number}}
 */
function cut({ before, ours, theirs }) {
  const lists = { base: itemsOf(before), ours: ours.items, theirs: theirs.items };
  const { head, tail } = sharedEnds(Object.values(lists), isEqual);
  const middle = (list) => list.slice(head, list.length - tail);
  const middles = { base: middle(lists.base), ours: middle(lists.ours),
    theirs: middle(lists.theirs) };
  return { lists, middles, head, tail };
}

/** Whether a member tells the items of every list apart. */
function isKey(name, lists) {
  return Object.values(lists).every((list) => {
    const values = list.map((item) => memberOf(item, name));
    if (values.some((value) => !value || value.kind === 'object' || value.kind === 'list')) {
      return false;
    }
    return new Set(values.map(canonOf)).size === list.length;
  });
}

/** Whether a side lost a value of base and has a new one: it may have edited it. */
function looksEdited(name, base, side) {
  const [before, now] = [base, side].map((list) => (
    new Set(list.map((item) => canonOf(memberOf(item, name))))));
  const lacks = (one, other) => [...one].some((value) => !other.has(value));
  return lacks(before, now) && lacks(now, before);
}

/** The member that tells the items apart, if no rule says it; null if none does. */
function findKey(lists) {
  const natural = NATURAL_KEYS.find((name) => isKey(name, lists));
  if (natural !== undefined) return natural;
  const { base, ours, theirs } = lists;
  const first = [...base, ...ours, ...theirs].find((item) => item.kind === 'object');
  if (!first) return null;
  const names = base.length ? first.members.map((member) => member.key) : STABLE_KEYS;
  const isStable = (name) => isKey(name, lists)
    && (!base.length || ![ours, theirs].some((side) => looksEdited(name, base, side)));
  const stable = names.find(isStable);
  return stable === undefined ? null : stable;
}

/** Two lists. `before` is base, if that is a list as well. */
function mergeList(merge, place) {
  const kind = listKindOf(place.schema);
  const rule = ruleOf(place.schema);
  const work = { ...place, ...cut(place), kind, rule };
  if (kind === 'sequence' || kind === 'tuple') return mergeInOrder(merge, work);
  if (BY_KEY.includes(rule.strategy)) return mergeByKey(merge, work, keyOf(rule));
  const key = findKey(work.lists);
  if (key !== null) return mergeByKey(merge, work, [key]);
  const isSingle = (item) => item.kind !== 'object' && item.kind !== 'list';
  if (kind === 'set' && Object.values(work.lists).every((list) => list.every(isSingle))) {
    return mergeByKey(merge, work, null);
  }
  return mergeInOrder(merge, work);
}

/** Lists whose items are known by a key: one or several members, or null for the whole item. */
function mergeByKey(merge, work, key) {
  const ids = identitiesOf(work.middles, key);
  const { strategy = 'rows' } = work.rule;
  if (strategy === 'rows' && key) {
    const found = ['ours', 'theirs'].map((side) => renamesIn(side, ids, work.middles, key));
    ['ours', 'theirs'].forEach((side, at) => {
      ids[side] = ids[side].map((id) => found[at].get(id) || id);
    });
  }
  return mergeByIdentity(merge, work, ids,
    { wholeRuns: work.rule.strategy === 'queue', mayChoose: BY_KEY.includes(work.rule.strategy) });
}

/** The items that a side renamed: from the new identity to the old one. */
function renamesIn(side, ids, middles, key) {
  const found = new Map();
  const other = ids[side === 'ours' ? 'theirs' : 'ours'];
  for (const hunk of hunksOf(align(ids.base, ids[side]), ids.base.length, ids[side].length)) {
    if (hunk.end - hunk.start !== 1 || hunk.last - hunk.first !== 1) continue;
    const [old, now] = [ids.base[hunk.start], ids[side][hunk.first]];
    if (ids[side].includes(old) || ids.base.includes(now) || other.includes(now)) continue;
    if (areAlike(middles.base[hunk.start], middles[side][hunk.first], key)) found.set(now, old);
  }
  return found;
}

/** Whether two records have at least half of their members besides the key in common. */
function areAlike(one, other, key) {
  if (one.kind !== 'object' || other.kind !== 'object') return false;
  const names = new Set([...one.byKey.keys(), ...other.byKey.keys()]);
  names.delete(key[0]);
  const same = [...names].filter((name) => memberOf(one, name)
    && isEqual(memberOf(one, name), memberOf(other, name)));
  return names.size > 0 && same.length * 2 >= names.size;
}

/** The rule `log` where a version is a single record; null if the rule does not apply. */
function mergeSingleRecords(merge, place) {
  const { base, ours, theirs } = place;
  const rule = ruleOf(place.schema);
  const key = keyOf(rule);
  if (rule.strategy !== 'log' || !key) return null;
  if (ours.kind !== 'object' && theirs.kind !== 'object') return null;
  const isRecords = (node) => node.kind === 'object' || node.kind === 'list';
  if (!isRecords(ours) || !isRecords(theirs)) return null;
  if (ours.kind === theirs.kind && keyTextOf(ours, key) === keyTextOf(theirs, key)) return null;
  const listOf = (node) => (node && node.kind === 'object' ? [node] : itemsOf(node));
  const before = base && isRecords(base) ? base : null;
  const lists = { base: listOf(before), ours: listOf(ours), theirs: listOf(theirs) };
  const ids = identitiesOf(lists, key);
  const contents = new Map();
  for (const version of Object.keys(lists)) {
    for (const [at, id] of ids[version].entries()) {
      const canon = canonOf(lists[version][at]);
      if (contents.has(id) && contents.get(id) !== canon) return null;
      contents.set(id, canon);
    }
  }
  const work = { ...place, before, lists, middles: lists, head: 0, tail: 0, kind: 'log', rule };
  const { orders, entries } = orderOfIdentities(merge, work, ids, { mayChoose: true });
  return { type: 'list', shape: null, other: null, entries: orders[0].map((id) => entries.get(id)) };
}

module.exports = { mergeList, mergeSingleRecords };
