'use strict';
// Aligns two lists of texts: which item of one is which of the other.

const { sharedEnds } = require('./value');

const MOST_EDITS = 256;

/** The indexes [in base, in side] of the longest run of pairs that rises in both. */
function longestRise(pairs) {
  const tails = [];
  const before = new Array(pairs.length);
  pairs.forEach((pair, at) => {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tails[middle]][1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    before[at] = low > 0 ? tails[low - 1] : -1;
    tails[low] = at;
  });
  const run = [];
  for (let at = tails.length ? tails[tails.length - 1] : -1; at >= 0; at = before[at]) {
    run.push(pairs[at]);
  }
  return run.reverse();
}

/** Pairs by Myers' greedy algorithm, or null if that takes more than 256 edits. */
function shortestEdit(base, side) {
  const [height, width] = [base.length, side.length];
  const trace = [];
  let furthest = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(MOST_EDITS, height + width); edits += 1) {
    const reached = new Map(furthest);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let at = startOn(furthest, diagonal, edits);
      while (at < height && at - diagonal < width && base[at] === side[at - diagonal]) at += 1;
      reached.set(diagonal, at);
      if (at >= height && at - diagonal >= width) {
        return traceBack(trace.concat([furthest]), height, width);
      }
    }
    trace.push(furthest);
    furthest = reached;
  }
  return null;
}

/** Whether the step to a diagonal is an insertion, coming from the diagonal above. */
function isInsertion(furthest, diagonal, edits) {
  if (diagonal === -edits) return true;
  return diagonal !== edits && furthest.get(diagonal - 1) < furthest.get(diagonal + 1);
}

/** Where a path begins on a diagonal: the index in base behind the step. */
function startOn(furthest, diagonal, edits) {
  return isInsertion(furthest, diagonal, edits) ? furthest.get(diagonal + 1)
    : furthest.get(diagonal - 1) + 1;
}

/** The pairs on the path that a finished trace leads back along. */
function traceBack(trace, height, width) {
  const pairs = [];
  let [at, diagonal] = [height, height - width];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const start = startOn(trace[edits], diagonal, edits);
    for (; at > start; at -= 1) pairs.push([at - 1, at - 1 - diagonal]);
    if (isInsertion(trace[edits], diagonal, edits)) diagonal += 1;
    else [at, diagonal] = [at - 1, diagonal - 1];
  }
  return pairs.reverse();
}

/** The texts that a list has exactly once, with their index. */
function onceIn(list) {
  const found = new Map();
  list.forEach((text, at) => found.set(text, found.has(text) ? -1 : at));
  return new Map([...found].filter(([, at]) => at >= 0));
}

/** Pairs around the items that both lists have exactly once. */
function patience(base, side) {
  const inSide = onceIn(side);
  const shared = [...onceIn(base)].filter(([text]) => inSide.has(text));
  const run = longestRise(shared.map(([text, at]) => [at, inSide.get(text)]));
  if (!run.length) return [];
  const pairs = [];
  let from = [0, 0];
  for (const stop of [...run, [base.length, side.length]]) {
    const between = align(base.slice(from[0], stop[0]), side.slice(from[1], stop[1]));
    for (const [one, other] of between) pairs.push([one + from[0], other + from[1]]);
    if (stop[0] < base.length) pairs.push(stop);
    from = [stop[0] + 1, stop[1] + 1];
  }
  return pairs;
}

/** The pairs [index in base, index in side] of equal items, rising in both. */
function align(base, side) {
  const { head, tail } = sharedEnds([base, side], Object.is);
  const pairs = [];
  for (let at = 0; at < head; at += 1) pairs.push([at, at]);
  const middles = [base.slice(head, base.length - tail), side.slice(head, side.length - tail)];
  if (middles[0].length && middles[1].length) {
    for (const [one, other] of shortestEdit(...middles) || patience(...middles)) {
      pairs.push([one + head, other + head]);
    }
  }
  for (let left = tail; left > 0; left -= 1) pairs.push([base.length - left, side.length - left]);
  return pairs;
}

/**
 * The gaps between pairs: base's items from start to end, in the side those from first to last.
 * @returns {Array<{start: number, end: number, first: number, last: number}>}
 */
function hunksOf(pairs, baseLength, sideLength) {
  const hunks = [];
  let [start, first] = [0, 0];
  for (const [end, last] of [...pairs, [baseLength, sideLength]]) {
    if (end - start === last - first) {
      for (let at = 0; at < end - start; at += 1) {
        hunks.push({ start: start + at, end: start + at + 1, first: first + at,
          last: first + at + 1 });
      }
    } else hunks.push({ start, end, first, last });
    [start, first] = [end + 1, last + 1];
  }
  return hunks;
}

module.exports = { align, hunksOf };
