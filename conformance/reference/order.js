'use strict';
// The order of two versions. Identities are texts; a version is a list of different ones.

const { compareLists } = require('./value');

const MOST_BY_PAIRS = 64;

/** Whether two lists have the same identities in the same order. */
function isSame(one, other) {
  return one.length === other.length && one.every((id, at) => id === other[at]);
}

/** The items of a list that are in all of the sets. */
function only(list, ...sets) {
  return list.filter((id) => sets.every((set) => set.has(id)));
}

/**
 * The runs of a side: behind which anchor (by number, -1 for none) each other item goes.
 * @returns {{runs: Map<number, string[]>, misplaced: number}}
 */
function runsOf(list, numbers) {
  const ends = new Array(list.length);
  let end = numbers.size;
  for (let at = list.length - 1; at >= 0; at -= 1) {
    ends[at] = end;
    if (numbers.has(list[at])) end = Math.min(end, numbers.get(list[at]));
  }
  const runs = new Map();
  let [last, nearest, place, misplaced] = [-1, -1, -1, 0];
  list.forEach((id, at) => {
    if (numbers.has(id)) {
      nearest = numbers.get(id);
      last = Math.max(last, nearest);
      return;
    }
    place = Math.max(place, last < ends[at] ? last : nearest);
    if (last > ends[at]) misplaced += 1;
    if (!runs.has(place)) runs.set(place, []);
    runs.get(place).push(id);
  });
  return { runs, misplaced };
}

/** Two runs behind one anchor as one. */
function combine(one, other, rank, wholeRuns) {
  if (!one.length || !other.length) return one.concat(other);
  if (wholeRuns) {
    return compareLists(one, other, rank) <= 0 ? one.concat(other) : other.concat(one);
  }
  const combined = [];
  let [left, right] = [0, 0];
  while (left < one.length && right < other.length) {
    if (rank(one[left], other[right]) <= 0) combined.push(one[left++]);
    else combined.push(other[right++]);
  }
  return combined.concat(one.slice(left), other.slice(right));
}

/** All identities, laid out along the anchors in the order given. */
function layOut(anchors, ours, theirs, rank, wholeRuns) {
  const numbers = new Map(anchors.map((id, number) => [id, number]));
  const sides = [runsOf(ours, numbers), runsOf(theirs, numbers)];
  const order = [];
  for (let number = -1; number < anchors.length; number += 1) {
    if (number >= 0) order.push(anchors[number]);
    const [one, other] = sides.map((side) => side.runs.get(number) || []);
    order.push(...combine(one, other, rank, wholeRuns));
  }
  return { order, misplaced: sides[0].misplaced + sides[1].misplaced };
}

/** The candidate, reordered so that it has every pair as the sides need it; null if none has. */
function orderByPairs(candidate, base, ours, theirs) {
  const places = [base, ours, theirs].map((list) => new Map(list.map((id, at) => [id, at])));
  /** -1 if one is before other in this version, 1 if behind, 0 if it lacks one of them. */
  const compareIn = (version, one, other) => {
    const [left, right] = [places[version].get(one), places[version].get(other)];
    return left === undefined || right === undefined ? 0 : Math.sign(left - right);
  };
  const mustPrecede = (one, other) => {
    const [inOurs, inTheirs] = [compareIn(1, one, other), compareIn(2, one, other)];
    if (inOurs * inTheirs < 0) return compareIn(0, one, other) > 0;
    return inOurs + inTheirs < 0;
  };
  const order = [];
  let rest = candidate;
  while (rest.length) {
    const next = rest.find((id) => !rest.some((other) => other !== id && mustPrecede(other, id)));
    if (next === undefined) return null;
    order.push(next);
    rest = rest.filter((id) => id !== next);
  }
  return order;
}

/** The better of two candidates. */
function choose(one, other, survivors, rank) {
  if (one.misplaced !== other.misplaced) return one.misplaced < other.misplaced ? one : other;
  const isNew = (id) => (survivors.has(id) ? 1 : 0);
  const found = compareLists(one.order, other.order, (left, right) => isNew(left) - isNew(right))
    || compareLists(one.order, other.order, rank);
  return found <= 0 ? one : other;
}

/**
 * The order of two versions.
 * @param {(one: string, other: string) => number} rank
 * @param {{wholeRuns: boolean, mayChoose: boolean}} switches
 * @returns {string[][]} one order, or two that contradict each other
 */
function orderOf(base, ours, theirs, rank, { wholeRuns, mayChoose }) {
  const [inBase, inOurs, inTheirs] = [base, ours, theirs].map((list) => new Set(list));
  const [mine, yours] = [only(ours, inTheirs), only(theirs, inOurs)];
  const along = (anchors) => layOut(anchors, ours, theirs, rank, wholeRuns);
  if (isSame(mine, yours)) return [along(mine).order];
  const survivors = only(base, inOurs, inTheirs);
  const [movedMine, movedYours] = [only(mine, inBase), only(yours, inBase)];
  const mineMoved = !isSame(movedMine, survivors);
  const differ = !isSame(movedMine, movedYours);
  const bothMoved = differ && mineMoved && !isSame(movedYours, survivors);
  const contradict = () => survivors.length > MOST_BY_PAIRS
    || !orderByPairs(survivors, survivors, movedMine, movedYours);
  if (bothMoved && (wholeRuns || (!mayChoose && contradict()))) {
    return [along(mine).order, along(yours).order];
  }
  let candidate;
  if (differ && !bothMoved) candidate = along(mineMoved ? mine : yours);
  else candidate = choose(along(mine), along(yours), new Set(survivors), rank);
  const { order, misplaced } = candidate;
  if ((misplaced || bothMoved) && order.length <= MOST_BY_PAIRS) {
    return [orderByPairs(order, base, ours, theirs) || order];
  }
  return [order];
}

module.exports = { orderOf };
