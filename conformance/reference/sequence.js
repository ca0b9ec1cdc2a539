'use strict';
// Lists in order: their items have no key, and are aligned as lines of a text are.

const { align, hunksOf } = require('./align');
const { mergeByIdentity, sameEntries } = require('./keyed');
const { conflictOf, source } = require('./result');
const { canonOf, compareLists, compareRank, isEqual, pathTo, sharedEnds } = require('./value');

/** How often a list has each text. */
function countsOf(texts) {
  const counts = new Map();
  texts.forEach((text) => counts.set(text, (counts.get(text) || 0) + 1));
  return counts;
}

/** What a side did to the middle. moves: from the index in base to that in the side. */
function editOf(base, side) {
  const pairs = align(base, side);
  const aligned = new Set(pairs.map(([at]) => at));
  const [inBase, inSide] = [countsOf(base), countsOf(side)];
  const moves = new Map();
  base.forEach((text, at) => {
    if (!aligned.has(at) && inBase.get(text) === 1 && inSide.get(text) === 1) {
      moves.set(at, side.indexOf(text));
    }
  });
  const arrived = new Set(moves.values());
  const hunks = hunksOf(pairs, base.length, side.length).map((hunk) => ({ ...hunk,
    old: range(hunk.start, hunk.end).filter((at) => !moves.has(at)),
    new: range(hunk.first, hunk.last).filter((at) => !arrived.has(at)) }));
  return { side, pairs, moves, hunks };
}

/** The indexes from start to end, without end. */
function range(start, end) {
  return Array.from({ length: end - start }, (_, at) => start + at);
}

/** Whether both sides moved an item of base to different neighbours. */
function movedApart(mine, yours) {
  const neighbours = ({ moves, side }, at) => [side[moves.get(at) - 1], side[moves.get(at) + 1]];
  return [...mine.moves.keys()].some((at) => {
    if (!yours.moves.has(at)) return false;
    const [left, right] = [neighbours(mine, at), neighbours(yours, at)];
    return left[0] !== right[0] || left[1] !== right[1];
  });
}

/** Whether identities could take one item for another. */
function mayMixUp(mine, yours) {
  const rewrites = ({ hunks }) => hunks.filter((hunk) => hunk.old.length && hunk.new.length
    && hunk.old.length !== hunk.new.length);
  const overlap = rewrites(mine).some((one) => rewrites(yours).some((other) => (
    one.start < other.end && other.start < one.end)));
  const startsOf = ({ hunks, side }) => new Map(hunks.flatMap((hunk) => (
    hunk.new.map((at) => [side[at], `${hunk.start} ${hunk.old.length === hunk.new.length}`]))));
  const [starts, others] = [startsOf(mine), startsOf(yours)];
  return overlap || [...starts].some(([text, start]) => others.has(text)
    && others.get(text) !== start);
}

/** The identity of each item of a side's middle. */
function identitiesIn({ side, pairs, moves, hunks }) {
  const ids = side.map((text) => `0 new ${text}`);
  for (const [at, there] of [...pairs, ...moves]) ids[there] = `${at} base`;
  for (const hunk of hunks) {
    if (hunk.old.length !== hunk.new.length) continue;
    hunk.old.forEach((at, count) => { ids[hunk.new[count]] = `${at} base`; });
  }
  return ids;
}

/** Merges lists in order. `work` is the place with its lists and middles. */
function mergeInOrder(merge, work) {
  const { lists, middles, kind } = work;
  const all = Object.values(lists);
  const alike = all.every((list) => list.length === lists.ours.length);
  const numbers = all.every((list) => list.every((item) => item.kind === 'number'));
  if (alike && (kind === 'tuple' || (kind === '' && numbers))) {
    const entries = [];
    mergeOneByOne(merge, work, lists, entries);
    return { type: 'list', shape: work.ours, other: work.theirs, entries };
  }
  if (kind === 'tuple' && isEqual(work.ours, work.base)) return source(work.theirs);
  if (!work.before || kind === 'tuple') return conflictOf(work);
  const texts = {};
  for (const version of Object.keys(middles)) texts[version] = middles[version].map(canonOf);
  const repeats = all.some((list) => new Set(list.map(canonOf)).size < list.length);
  const [mine, yours] = [editOf(texts.base, texts.ours), editOf(texts.base, texts.theirs)];
  if (mine.moves.size || yours.moves.size) {
    if (repeats ? movedApart(mine, yours) : mayMixUp(mine, yours)) return conflictOf(work);
    if (!repeats) {
      const ids = { base: texts.base.map((_, at) => `${at} base`), ours: identitiesIn(mine),
        theirs: identitiesIn(yours) };
      return mergeByIdentity(merge, work, ids, { mayChoose: false });
    }
  }
  const parts = partsOf(mine, yours);
  if (!repeats && addApart(parts, work.middles)) return conflictOf(work);
  return mergeParts(merge, work, parts, countsOf(texts.base));
}

/** Merges lists of one length, item by item. */
function mergeOneByOne(merge, work, { base, ours, theirs }, entries) {
  ours.forEach((item, at) => {
    const index = indexBehind(entries);
    const value = merge.place({ base: base[at], ours: item, theirs: theirs[at],
      schema: merge.schemas.ofItem(work.schema, index), path: pathTo(work.path, index) });
    entries.push({ value, anchor: item });
  });
}

/** The texts of what a side put there. */
function newTexts({ side }, hunks) {
  return hunks.flatMap((hunk) => side.slice(hunk.first, hunk.last));
}

/** The parts: hunks of both sides that belong together. */
function partsOf(mine, yours) {
  const hunks = [...mine.hunks.map((hunk) => ({ hunk, by: 'ours' })),
    ...yours.hunks.map((hunk) => ({ hunk, by: 'theirs' }))];
  hunks.sort((one, other) => one.hunk.start - other.hunk.start || one.hunk.end - other.hunk.end);
  const parts = [];
  for (const { hunk, by } of hunks) {
    let part = parts[parts.length - 1];
    const [side, other] = by === 'ours' ? [mine, yours] : [yours, mine];
    const others = part ? newTexts(other, part[by === 'ours' ? 'theirs' : 'ours']) : [];
    const belongs = part && (hunk.start < part.end
      || (hunk.start === part.start && hunk.end === part.end)
      || (hunk.start === part.end && newTexts(side, [hunk]).some((text) => others.includes(text))));
    if (!belongs) {
      part = { start: hunk.start, end: hunk.end, ours: [], theirs: [] };
      parts.push(part);
    }
    part.end = Math.max(part.end, hunk.end);
    part[by].push(hunk);
  }
  return parts;
}

/** Whether both sides added an equal object or list, each in another part. */
function addApart(parts, { ours, theirs }) {
  const partsBy = new Map();
  const itemsOf = (hunks, side) => hunks.flatMap((hunk) => side.slice(hunk.first, hunk.last))
    .filter((item) => item.kind === 'object' || item.kind === 'list').map(canonOf);
  parts.forEach((part) => itemsOf(part.ours, ours).forEach((text) => partsBy.set(text, part)));
  return parts.some((part) => itemsOf(part.theirs, theirs)
    .some((text) => partsBy.has(text) && partsBy.get(text) !== part));
}

/** What a side has in the place of a part's base items. `at` is where its part begins there. */
function contentOf(part, hunks, items, at) {
  const lengthen = (sum, hunk) => sum + (hunk.last - hunk.first) - (hunk.end - hunk.start);
  const grown = hunks.reduce(lengthen, 0);
  return items.slice(at, at + part.end - part.start + grown);
}

/** Merges what both sides did, part by part. `counts`: how often base's middle has each item. */
function mergeParts(merge, work, parts, counts) {
  const { base, ours, theirs } = work.middles;
  const entries = sameEntries(work.lists.ours.slice(0, work.head));
  const done = { base: 0, ours: 0, theirs: 0 };
  const keepUntil = (stop) => {
    const count = stop - done.base;
    entries.push(...sameEntries(ours.slice(done.ours, done.ours + count)));
    for (const version of Object.keys(done)) done[version] += count;
  };
  for (const part of parts) {
    keepUntil(part.start);
    const content = { base: base.slice(part.start, part.end),
      ours: contentOf(part, part.ours, ours, done.ours),
      theirs: contentOf(part, part.theirs, theirs, done.theirs) };
    if (!part.theirs.length) entries.push(...sameEntries(content.ours));
    else if (!part.ours.length) entries.push(...newEntries(content.theirs));
    else mergePart(merge, work, content, counts, entries);
    for (const version of Object.keys(done)) done[version] += content[version].length;
  }
  keepUntil(base.length);
  entries.push(...sameEntries(work.lists.ours.slice(work.lists.ours.length - work.tail)));
  return { type: 'list', shape: work.ours, other: work.theirs, entries };
}

/** The entries for items that ours lacks. */
function newEntries(items) {
  return items.map((item) => ({ value: source(item), anchor: null }));
}

/** Whether a list has all items of another, in their order. */
function hasAll(list, others) {
  let at = 0;
  for (const item of list) if (at < others.length && isEqual(item, others[at])) at += 1;
  return at === others.length;
}

/** Whether both sides put an equal object or list there, each at another place. */
function isShifted({ base, ours, theirs }) {
  return theirs.some((item, place) => {
    if (!['list', 'object'].includes(item.kind) || base.some((other) => isEqual(item, other))) return false;
    const found = ours.findLastIndex((other) => isEqual(item, other));
    return found >= 0 && found !== place;
  });
}

/** A part that both sides changed. */
function mergePart(merge, work, content, counts, entries) {
  const { base, ours, theirs } = content;
  if (base.length === ours.length && base.length === theirs.length && !isShifted(content)) {
    mergeOneByOne(merge, work, content, entries);
    return;
  }
  if (!base.length) {
    if (hasAll(ours, theirs)) entries.push(...sameEntries(ours));
    else if (hasAll(theirs, ours)) entries.push(...newEntries(theirs));
    else if (ours.some((item) => theirs.some((other) => isEqual(item, other)))) {
      entries.push(rangeConflict(work, content, indexBehind(entries)));
    } else {
      const runs = [sameEntries(ours), newEntries(theirs)];
      if (compareLists(ours, theirs, compareRank) > 0) runs.reverse();
      entries.push(...runs.flat());
    }
    return;
  }
  const { head, tail } = sharedEnds([ours, theirs], isEqual);
  const rest = { base, ours: ours.slice(head, ours.length - tail),
    theirs: theirs.slice(head, theirs.length - tail) };
  entries.push(...sameEntries(ours.slice(0, head)));
  const isBase = (items) => items.length === base.length
    && base.every((item, at) => isEqual(item, items[at]) && counts.get(canonOf(item)) === 1);
  if (isBase(rest.ours)) entries.push(...newEntries(rest.theirs));
  else if (isBase(rest.theirs)) entries.push(...sameEntries(rest.ours));
  else if (rest.ours.length || rest.theirs.length) {
    entries.push(rangeConflict(work, rest, indexBehind(entries)));
  }
  entries.push(...sameEntries(ours.slice(ours.length - tail)));
}

/** The index behind entries: a conflict counts as many items as its longest version has. */
function indexBehind(entries) {
  const lengthOf = ({ value }) => (value.type === 'conflict'
    ? Math.max(value.base.length, value.ours.length, value.theirs.length) : 1);
  return entries.reduce((sum, entry) => sum + lengthOf(entry), 0);
}

/** One conflict over several items. */
function rangeConflict(work, { base, ours, theirs }, index) {
  return { anchor: null, value: { type: 'conflict', about: { places: [pathTo(work.path, index)] },
    base: newEntries(base), ours: sameEntries(ours), theirs: newEntries(theirs) } };
}

module.exports = { mergeInOrder };
