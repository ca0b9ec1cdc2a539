'use strict';
// Lists whose items have identities: what stays, in which order, and how each item merges.

const { compareInstants, instantOf } = require('./numbers');
const { orderOf } = require('./order');
const { conflictOf, nodeOn, source } = require('./result');
const { canonOf, compareRank, isEqual, lookUp, memberOf, pathTo } = require('./value');

const VERSIONS = ['base', 'ours', 'theirs'];

/** The key text of an item. `key` is the names of its members, or null for the whole item. */
function keyTextOf(item, key) {
  if (key) {
    const values = key.map((name) => memberOf(item, name));
    if (values.every(Boolean)) return `key [${values.map(canonOf).join(',')}]`;
    if (item.kind === 'text' && key.length === 1) return `key [${canonOf(item)}]`;
  }
  return wholeTextOf(item);
}

/** The key text of an item that is known by its whole content. */
function wholeTextOf(item) {
  return `item ${canonOf(item)}`;
}

/** Makes texts different: the k-th of equal ones gets its k. */
function numbered(texts) {
  const counts = new Map();
  return texts.map((text) => {
    const count = counts.get(text) || 0;
    counts.set(text, count + 1);
    return `${count} ${text}`;
  });
}

/** The identities of the items of each version. */
function identitiesOf(middles, key) {
  const twice = new Set();
  const texts = {};
  for (const version of VERSIONS) {
    texts[version] = middles[version].map((item) => keyTextOf(item, key));
    const seen = new Set();
    for (const text of texts[version]) (seen.has(text) ? twice : seen).add(text);
  }
  const ids = {};
  for (const version of VERSIONS) {
    ids[version] = numbered(texts[version].map((text, at) => (
      twice.has(text) ? wholeTextOf(middles[version][at]) : text)));
  }
  return ids;
}

/** Compares what ranks items: {instant, node, count}. */
function compareRanks(one, other) {
  if (!one.instant !== !other.instant) return one.instant ? -1 : 1;
  return (one.instant && compareInstants(other.instant, one.instant))
    || compareRank(one.node, other.node) || one.count - other.count;
}

/** The rank of each identity, as a function that compares two. */
function ranksOf(work, ids) {
  const { sort } = work.rule;
  const ranks = new Map();
  for (const side of ['ours', 'theirs']) {
    ids[side].forEach((id, at) => {
      const node = work.middles[side][at];
      const rank = { instant: sort === undefined ? null : instantOf(lookUp(node, sort)), node,
        count: parseInt(id, 10) };
      const known = ranks.get(id);
      if (!known || compareRanks(rank, known) < 0) ranks.set(id, rank);
    });
  }
  return (one, other) => compareRanks(ranks.get(one), ranks.get(other));
}

/**
 * The identities that stay, in one order or two, and the merged entry of each.
 * @param {object} work the place, its lists, middles and rule
 * @param {{base: string[], ours: string[], theirs: string[]}} ids
 */
function orderOfIdentities(merge, work, ids, switches) {
  const items = {};
  for (const version of VERSIONS) {
    items[version] = new Map(ids[version].map((id, at) => [id, work.middles[version][at]]));
  }
  const find = (id) => VERSIONS.map((version) => items[version].get(id) || null);
  const stays = (id) => {
    const [base, ours, theirs] = find(id);
    return !base || (ours && theirs) || !isEqual(ours || theirs, base);
  };
  const kept = VERSIONS.map((version) => ids[version].filter(stays));
  kept[0] = kept[0].filter((id) => items.ours.has(id) || items.theirs.has(id));
  const orders = orderOf(...kept, ranksOf(work, ids), switches);
  const entries = new Map();
  orders[0].forEach((id, at) => {
    const [base, ours, theirs] = find(id);
    const index = work.head + at;
    const inOrder = work.rule.strategy === 'sequence' ? index : undefined;
    const place = { base, ours, theirs, schema: merge.schemas.ofItem(work.schema, inOrder),
      path: pathTo(work.path, index) };
    let value;
    if (base || work.rule.added) value = base || (ours && theirs) ? merge.place(place) : null;
    else if (ours && theirs && !isEqual(ours, theirs)) value = conflictOf(place);
    entries.set(id, { value: value || source(ours || theirs), anchor: ours });
  });
  return { orders, entries };
}

/** The entries for items that all versions have. */
function sameEntries(items) {
  return items.map((item) => ({ value: source(item), anchor: item }));
}

/** The item that an entry's instant is read from: ours, if ours has it. */
function itemOf(entry) {
  return entry.anchor || nodeOn(entry.value, 'theirs');
}

/** Whether a result has a conflict in it. */
function isOpen(value) {
  return value.type === 'conflict' || (value.entries || []).some((entry) => isOpen(entry.value));
}

/** Drops the oldest of a list's entries until it fits. `oldIn` has the entries that base has. */
function applyLimit(work, entries, oldIn) {
  const { limit, sort } = work.rule;
  if (!limit) return entries;
  const room = Math.max(limit, work.lists.ours.length, work.lists.theirs.length);
  const ranked = entries.map((entry, at) => ({ entry, at, isOld: oldIn.has(entry),
    instant: sort === undefined ? null : instantOf(lookUp(itemOf(entry), sort)) }));
  const allTimed = ranked.every((one) => one.instant);
  ranked.sort((one, other) => {
    if (!allTimed && one.isOld !== other.isOld) return one.isOld ? -1 : 1;
    if (!one.instant !== !other.instant) return one.instant ? 1 : -1;
    return (one.instant && compareInstants(one.instant, other.instant)) || other.at - one.at;
  });
  const excess = Math.max(0, entries.length - room);
  const oldest = ranked.slice(0, excess).map((one) => one.entry);
  const dropped = new Set(oldest.filter((entry) => !isOpen(entry.value)));
  return entries.filter((entry) => !dropped.has(entry));
}

/** Merges lists whose middles have the identities `ids`. */
function mergeByIdentity(merge, work, ids, switches) {
  const { orders, entries } = orderOfIdentities(merge, work, ids, switches);
  const items = work.lists.ours;
  const head = sameEntries(items.slice(0, work.head));
  const tail = sameEntries(items.slice(items.length - work.tail));
  const old = new Set([...head, ...tail, ...ids.base.map((id) => entries.get(id)).filter(Boolean)]);
  const lists = orders.map((order) => ({ type: 'list', shape: work.ours, other: work.theirs,
    entries: applyLimit(work, [...head, ...order.map((id) => entries.get(id)), ...tail], old) }));
  if (lists.length === 1) return lists[0];
  const conflict = conflictOf(work);
  conflict.ours[0].value = lists[0];
  conflict.theirs[0].value = lists[1];
  return conflict;
}

module.exports = { identitiesOf, keyTextOf, mergeByIdentity, orderOfIdentities, sameEntries };
