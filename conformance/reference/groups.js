'use strict';
// Members of one object that merge together.

const { compareInstants, instantOf } = require('./numbers');
const { conflictOf, source } = require('./result');
const { canonOf, compareLists, freshNode, isEqual, lookUp, memberOf, namesIn, pathTo,
  quote } = require('./value');
const { sourceOf } = require('./text');

const UNDECIDED = Symbol('undecided');

/** A member three-way. */
function threeWay({ base, ours, theirs }) {
  if (isEqual(ours, theirs) || isEqual(theirs, base)) return ours;
  return isEqual(ours, base) ? theirs : UNDECIDED;
}

/** The side with the greater of two values; '' if a value is missing, or they are equal. */
function sideOf(mine, yours, compare) {
  const found = mine && yours ? compare(mine, yours) : 0;
  if (!found) return '';
  return found > 0 ? 'ours' : 'theirs';
}

/** The side that is further along, by `rank`. */
function furtherSide(rank, whole, baseHasMembers) {
  const indexes = (node) => rank.map(({ at, order }) => {
    const found = lookUp(node, at);
    return found && found.kind === 'text' ? order.indexOf(found.value) : -1;
  });
  const [mine, yours] = [indexes(whole.ours), indexes(whole.theirs)];
  const known = baseHasMembers ? [mine, yours, indexes(whole.before)] : [mine, yours];
  if (known.some((list) => list.includes(-1))) return '';
  const compare = (one, other) => compareLists(one, other, (left, right) => left - right);
  if (baseHasMembers && [mine, yours].some((list) => compare(list, known[2]) < 0)) return '';
  return sideOf(mine, yours, compare);
}

/** The side whose document is later; '' as well if a side is not later than base. */
function laterSide(rule, whole, roots) {
  const same = (rule.same || []).every((at) => (
    isEqual(lookUp(whole.ours, at), lookUp(whole.theirs, at))));
  const [before, mine, yours] = [roots.base, roots.ours, roots.theirs]
    .map((root) => root && instantOf(lookUp(root, rule.by)));
  if (!same) return '';
  if (roots.base !== null) {
    if (!before || !mine || !yours) return '';
    if ([mine, yours].some((one) => compareInstants(one, before) <= 0)) return '';
  }
  return sideOf(mine, yours, compareInstants);
}

/** The record that keeps a version's members, its instant first; null if it has none. */
function recordOf(rule, root, places, version) {
  const instant = root && lookUp(root, rule.by);
  if (!instant) return null;
  const texts = [`${quote(namesIn(rule.by).pop())}:${sourceOf(instant)}`];
  places.forEach((place, key) => {
    if (place[version]) texts.push(`${quote(key)}:${sourceOf(place[version])}`);
  });
  return freshNode(`{${texts.join(',')}}`);
}

/**
 * Merges the members of a group.
 * @param {Map<string, object>} places the place of each member
 * @param {object} whole the object that has them
 * @returns {Map<string, object|null>} a result for each member
 */
function mergeGroup(merge, rule, places, whole) {
  const all = [...places.values()];
  const decided = new Map([...places].map(([key, place]) => [key, threeWay(place)]));
  if (rule.rank && all.some(({ ours, theirs }) => !isEqual(ours, theirs))) {
    const isChanged = (side) => all.some((one) => !isEqual(one[side], one.base));
    if (isChanged('ours') && isChanged('theirs')) {
      for (const key of places.keys()) decided.set(key, UNDECIDED);
    }
  }
  const results = new Map(decided);
  if ([...decided.values()].includes(UNDECIDED)) {
    let winner = '';
    if (rule.rank) winner = furtherSide(rule.rank, whole, all.some((one) => one.base));
    else if (rule.newest) {
      const [mine, yours] = [whole.ours, whole.theirs].map((node) => lookUp(node, rule.newest));
      winner = sideOf(instantOf(mine), instantOf(yours), compareInstants);
    } else if (rule.by && rule.superseded) {
      winner = laterSide(rule, whole, merge.roots);
    }
    if (!winner) return inConflict(places);
    places.forEach((place, key) => {
      const takesAll = rule.rank || rule.newest;
      if (takesAll || decided.get(key) === UNDECIDED) results.set(key, place[winner]);
    });
    if (rule.superseded) {
      const loser = winner === 'ours' ? 'theirs' : 'ours';
      const [record, old] = [loser, 'base'].map((version) => (
        recordOf(rule, merge.roots[version], places, version)));
      const without = [record, old].filter(Boolean).map(canonOf);
      merge.superseded.push({ name: rule.superseded, record, without });
    }
  }
  return new Map([...results].map(([key, node]) => [key, source(node)]));
}

/** All members as one conflict; those in which the sides agree have this value. */
function inConflict(places) {
  const differing = [...places].filter(([, { ours, theirs }]) => !isEqual(ours, theirs));
  const about = { places: differing.map(([, place]) => place.path) };
  return new Map([...places].map(([key, place]) => [key, isEqual(place.ours, place.theirs)
    ? source(place.ours) : conflictOf(place, about)]));
}

/** Adds what the groups set aside to its lists at the root of the merged document. */
function addSuperseded(merge, root) {
  for (const { name, record, without } of merge.superseded) {
    const entry = root.entries.find((one) => one.key === name);
    if (entry) entry.value = withRecord(merge, entry.value, record, without);
    else root.entries.push({ key: name, value: listOf([source(record)]) });
  }
}

/** A list that no version has. */
function listOf(values) {
  const entries = values.map((value) => ({ value, anchor: null }));
  return { type: 'list', shape: null, other: null, entries };
}

/** A result with a record at its end, and without the values that the record replaces. */
function withRecord(merge, result, record, without) {
  if (result.type === 'conflict') {
    const onSide = (side) => (result[side].length
      ? result[side].map((one) => ({ ...one, value: withRecord(merge, one.value, record, without) }))
      : listOf([listOf([source(record)])]).entries);
    return { ...result, ours: onSide('ours'), theirs: onSide('theirs') };
  }
  const stays = ({ value }) => value.type !== 'source' || !without.includes(canonOf(value.node));
  const fresh = { value: source(record), anchor: null };
  if (result.type === 'list') {
    return { ...result, entries: [...result.entries.filter(stays), fresh] };
  }
  if (result.type !== 'source' || result.node.kind !== 'list') {
    return listOf([result, source(record)]);
  }
  const { node } = result;
  const isOurs = node.doc === merge.roots.ours.doc;
  const entries = node.items.map((item) => ({ value: source(item), anchor: isOurs ? item : null }));
  return { type: 'list', shape: isOurs ? node : null, other: null,
    entries: [...entries.filter(stays), fresh] };
}

module.exports = { addSuperseded, mergeGroup };
