'use strict';
// Conditions on the whole document, which a merge of two good sides must not break.

const { conflictOf } = require('./result');
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

/** What the merged root has at a member; null if it has not. */
function resultAt(result, name) {
  const entry = result.entries.find((one) => one.key === name);
  return entry ? entry.value : null;
}

/** Whether a merged list has no items, and no conflict; an absent list has none. */
function isEmptyResult(result) {
  if (result === null) return true;
  if (result.type === 'source') return isEmpty(result.node);
  return result.type === 'list' && !result.entries.length;
}

/** Whether a version has no items at a list; an absent list has none. */
function isEmpty(node) {
  return node === null || (node.kind === 'list' && !node.items.length);
}

/** The condition `where`: a list that is not empty while fields have a value. */
function askWhatIsNext(condition, roots, result) {
  const list = nameIn(condition.where);
  if (!isEmptyResult(resultAt(result, list))) return;
  const wanted = Object.entries(condition.non_empty_when).map(([pointer, value]) => (
    [nameIn(pointer), canonOf(freshNode(JSON.stringify(value)))]));
  const hasValues = wanted.every(([name, canon]) => {
    const found = resultAt(result, name);
    return found && found.type === 'source' && canonOf(found.node) === canon;
  });
  if (!hasValues) return;

  const listOf = (version) => memberOf(roots[version], list);
  if (VERSIONS.map(listOf).every(isEmpty)) return;
  const isBroken = (side) => isEmpty(listOf(side)) && wanted.every(([name, canon]) => {
    const found = memberOf(roots[side], name);
    return found && canonOf(found) === canon;
  });
  if (isBroken('ours') || isBroken('theirs')) return;

  const nothing = freshNode('[]');
  const value = conflictOf({ base: nothing, ours: nothing, theirs: nothing,
    path: pathTo('', list) });
  const entry = result.entries.find((one) => one.key === list);
  if (entry) entry.value = value;
  else result.entries.splice(placeFor(list, roots, result), 0, { key: list, value });
}

/** Where a list that the merge left out stands: before the first member behind it in base. */
function placeFor(list, roots, result) {
  const before = VERSIONS.map((version) => roots[version]).find((root) => memberOf(root, list));
  const keys = [...before.byKey.keys()];
  const later = keys.slice(keys.indexOf(list));
  const at = result.entries.findIndex((one) => later.includes(one.key));
  return at < 0 ? result.entries.length : at;
}

/** Checks the merged root, an object, and makes conflicts of what breaks a condition. */
function enforceAfter(schema, roots, result) {
  for (const condition of conditionsOf(schema, 'where')) askWhatIsNext(condition, roots, result);
}

module.exports = { enforceAfter, isMixed };
