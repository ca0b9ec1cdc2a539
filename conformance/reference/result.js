'use strict';
// What a merge makes: a tree of results.
//
// {type: 'source', node}                      a value of a document, whole
// {type: 'object', shape, other, entries}     put together; an entry is {key, value: Result}
// {type: 'list', shape, other, entries}       put together; an entry is {value: Result, anchor}
// {type: 'conflict', about, ours, base, theirs}   what each side has: a list of entries
//
// shape is the value of ours, whose layout is kept, and other that of theirs. anchor is the item of
// ours that an entry stands for. As a member a conflict has at most one entry on each side.
// about ({places}) is the conflict itself: a conflict over several places has several results.

const { canonObject, canonOf, freshNode } = require('./value');

const SIDES = ['ours', 'base', 'theirs'];

/** A value taken whole; null stays null. */
function source(node) {
  return node && { type: 'source', node };
}

/** A conflict between what the versions have at one place. */
function conflictOf({ base, ours, theirs, path }, about = { places: [path] }) {
  const entries = (node) => (node ? [{ value: source(node), anchor: ours }] : []);
  return { type: 'conflict', about, ours: entries(ours), base: entries(base),
    theirs: entries(theirs) };
}

/** What a side has of a result, as canonical text; null if it has nothing. */
function canonOn(result, side) {
  if (result === null) return null;
  if (result.type === 'source') return canonOf(result.node);
  if (result.type === 'conflict') {
    return result[side].length ? canonOn(result[side][0].value, side) : null;
  }
  if (result.type === 'list') {
    return `[${entriesOn(result, side).map((one) => canonOn(one.value, side)).join(',')}]`;
  }
  const pairs = result.entries.map(({ key, value }) => [key, canonOn(value, side)]);
  return canonObject(pairs.filter(([, canon]) => canon !== null));
}

/** The entries of a list on a side, conflicts decided for it. */
function entriesOn(result, side) {
  return result.entries.flatMap((one) => (one.value.type === 'conflict' ? one.value[side] : [one]));
}

/** What a side has of a result, as a value. */
function nodeOn(result, side) {
  if (result && result.type === 'source') return result.node;
  const canon = canonOn(result, side);
  return canon === null ? null : freshNode(canon);
}

/** All conflicts in a result, in the order of the text. */
function conflictsIn(result, found = new Set()) {
  if (result.type === 'conflict') found.add(result.about);
  for (const entry of result.entries || []) conflictsIn(entry.value, found);
  return found;
}

module.exports = { SIDES, canonOn, conflictOf, conflictsIn, nodeOn, source };
