'use strict';
// Conditions on the whole document, which a merge of two good sides must not break.

const { canonOn, conflictOf } = require('./result');
const { canonOf, freshNode, isEqual, memberOf, namesIn, pathTo } = require('./value');

const VERSIONS = ['base', 'ours', 'theirs'];

/** The conditions of one form: those that have this member. */
function conditionsOf(schema, member) {
  const all = schema['x-merge-require'];
  return Array.isArray(all) ? all.filter((one) => Object.hasOwn(one, member)) : [];
}

/** The name of a member of the root that a pointer leads to. */
function nameIn(pointer) {
  return namesIn(pointer)[0];
}

/** What each version has at a member of the root. */
function placeOf(roots, name) {
  const place = { path: pathTo('', name) };
  for (const version of VERSIONS) place[version] = memberOf(roots[version], name);
  return place;
}

/** The condition `same`: whether the sides are two things, which must not be mixed. */
function isMixed(schema, roots) {
  const { base, ours, theirs } = roots;
  if (ours.kind !== 'object' || theirs.kind !== 'object') return false;
  if (isEqual(ours, base) || isEqual(theirs, base)) return false;
  return conditionsOf(schema, 'same').some(({ same }) => {
    const [mine, yours] = [ours, theirs].map((root) => memberOf(root, nameIn(same)));
    return !isEqual(mine, yours);
  });
}

/** Puts members of the merged root into one conflict, or into one that exists. */
function putInConflict(result, roots, names, about) {
  for (const name of names) {
    const place = placeOf(roots, name);
    if (!about.places.includes(place.path)) about.places.push(place.path);
    const value = conflictOf(place, about);
    const entry = result.entries.find((one) => one.key === name);
    if (entry) entry.value = value;
    else result.entries.push({ key: name, value });
  }
}

/** What the merged root has at a member; null if it has not. */
function resultAt(result, name) {
  const entry = result.entries.find((one) => one.key === name);
  return entry ? entry.value : null;
}

/** Whether a list is empty if its conflicts are decided in some way. */
function couldBeEmpty(result) {
  if (result === null) return true;
  if (result.type === 'source') return result.node.kind === 'list' && !result.node.items.length;
  const emptyOn = (side) => !result[side].length;
  if (result.type === 'conflict') {
    return ['ours', 'theirs'].some((side) => emptyOn(side) || couldBeEmpty(result[side][0].value));
  }
  return result.type === 'list' && result.entries.every(({ value }) => (
    value.type === 'conflict' && (!value.ours.length || !value.theirs.length)));
}

/** Whether a version has no items at a list; an absent list has none. */
function isEmpty(node) {
  return node === null || (node.kind === 'list' && !node.items.length);
}

/** The condition `where`: a list that is not empty while fields have a value. */
function enforceNonEmpty(condition, roots, result) {
  const list = nameIn(condition.where);
  const wanted = Object.entries(condition.non_empty_when).map(([pointer, value]) => (
    [nameIn(pointer), canonOf(freshNode(JSON.stringify(value)))]));
  const has = (root) => wanted.every(([name, canon]) => {
    const found = memberOf(root, name);
    return found && canonOf(found) === canon;
  });
  const lists = VERSIONS.map((version) => memberOf(roots[version], list));
  if (lists.every(isEmpty)) return;
  if (['ours', 'theirs'].some((side) => isEmpty(memberOf(roots[side], list)) && has(roots[side]))) {
    return;
  }
  const couldBe = wanted.every(([name, canon]) => ['ours', 'theirs'].some((side) => (
    canonOn(resultAt(result, name), side) === canon)));
  if (!couldBe || !couldBeEmpty(resultAt(result, list))) return;
  const fields = wanted.map(([name]) => name).filter((name) => {
    const { base, ours, theirs } = placeOf(roots, name);
    return !isEqual(base, ours) || !isEqual(ours, theirs);
  });
  const known = fields.map((name) => resultAt(result, name))
    .find((one) => one && one.type === 'conflict');
  if (known) putInConflict(result, roots, [list], known.about);
  else putInConflict(result, roots, [list, ...fields], { places: [] });
}

/** Checks the merged root, an object, and makes conflicts of what breaks a condition. */
function enforceAfter(schema, roots, result) {
  for (const condition of conditionsOf(schema, 'where')) enforceNonEmpty(condition, roots, result);
}

module.exports = { enforceAfter, isMixed };
