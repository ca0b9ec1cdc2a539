'use strict';
// Single values with a rule of x-merge. Each rule gives the value of the place, or null for none.

const { addChanges, compareDecimals, compareInstants, decimalOf, instantOf } = require('./numbers');
const { compareText, freshNode, lookUp } = require('./value');
const { sourceOf } = require('./text');

/** Of two spellings of one thing: the shorter, then the smaller by code point. */
function simpler(ours, theirs) {
  const found = ours.value.length - theirs.value.length || compareText(ours.value, theirs.value);
  return found <= 0 ? ours : theirs;
}

/** The side that `compare` finds greater (or smaller, with sign -1), reading both by `read`. */
function extreme(ours, theirs, read, compare, sign) {
  const [mine, yours] = [read(ours), read(theirs)];
  if (mine === null || yours === null) return null;
  const found = compare(mine, yours) * sign;
  if (found === 0) return simpler(ours, theirs);
  return found > 0 ? ours : theirs;
}

/** The rule `max`: the side further along in `order`, if both sides moved forward. */
function furthest(base, ours, theirs, order) {
  const placeOf = (node) => (node.kind === 'text' ? order.indexOf(node.value) : -1);
  const [mine, yours] = [placeOf(ours), placeOf(theirs)];
  const before = base === null ? -1 : placeOf(base);
  if (mine < 0 || yours < 0 || before > mine || before > yours) return null;
  if (base !== null && before < 0) return null;
  return mine > yours ? ours : theirs;
}

/** The rule `sum`. */
function sum(base, ours, theirs) {
  const before = base === null ? { digits: 0n, scale: 0 } : decimalOf(base);
  const [mine, yours] = [decimalOf(ours), decimalOf(theirs)];
  if (!before || !mine || !yours) return null;
  if (compareDecimals(mine, before) < 0 || compareDecimals(yours, before) < 0) return null;
  return freshNode(addChanges(before, mine, yours));
}

/** The rule `newest`: the value of the side whose document is later. Always decides. */
function newest(ours, theirs, by, roots) {
  if (ours === null || theirs === null) return ours || theirs;
  const [mine, yours] = [roots.ours, roots.theirs].map((root) => instantOf(lookUp(root, by)));
  const found = mine && yours ? compareInstants(mine, yours) : 0;
  if (found) return found > 0 ? ours : theirs;
  return compareText(sourceOf(ours), sourceOf(theirs)) <= 0 ? ours : theirs;
}

const RULES = {
  'max-time': (base, ours, theirs) => extreme(ours, theirs, instantOf, compareInstants, 1),
  'min-time': (base, ours, theirs) => extreme(ours, theirs, instantOf, compareInstants, -1),
  'max-number': (base, ours, theirs) => extreme(ours, theirs, decimalOf, compareDecimals, 1),
  max: (base, ours, theirs, rule) => furthest(base, ours, theirs, rule.order),
  sum,
};

module.exports = { RULES, newest };
