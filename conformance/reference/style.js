'use strict';
// How a document is laid out, and which of two sides is laid out anew.

const { compareText, isEqual, memberOf, sharedEnds } = require('./value');
const { sourceOf } = require('./text');

/** The spaces and tabs that the line of a place begins with. */
function indentAt(text, at) {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  return /^\ufeff?([ \t]*)/.exec(text.slice(start, at))[1];
}

/** Line end, unit, and what is between key and value, and between members on one line. */
function styleOf(doc) {
  const { text, root } = doc;
  const firstLine = text.slice(0, text.indexOf('\n') + 1);
  const members = root.members || root.items || [];
  const first = members[0];
  const isObject = root.kind === 'object';
  const opened = first ? text.slice(root.start + 1, first.start) : '';
  const style = { eol: firstLine.endsWith('\r\n') ? '\r\n' : '\n', unit: '  ', colon: ': ',
    comma: ', ' };
  if (opened.includes('\n')) style.unit = opened.slice(opened.lastIndexOf('\n') + 1);
  const colon = isObject && first ? text.slice(first.keyEnd, first.node.start) : '\n';
  if (!colon.includes('\n')) style.colon = colon;
  if (members.length > 1) {
    const end = isObject ? first.node.end : first.end;
    const between = text.slice(end, members[1].start);
    if (!between.includes('\n')) style.comma = between;
  } else if (isObject && first && !/\s/.test(style.colon)) style.comma = ',';
  return style;
}

/** Whether a side has another layout than base where they have the same content. */
function isLaidOutAnew(base, side) {
  if (isEqual(base, side)) return sourceOf(base) !== sourceOf(side);
  if (base.kind !== side.kind) return false;
  if (base.kind === 'object') return isObjectLaidOutAnew(base, side);
  return base.kind === 'list' && isListLaidOutAnew(base.items, side.items);
}

/** For each key of an object: the key before it, and the text from that one's value to its own. */
function gapsOf(node) {
  let [before, end] = ['', node.start + 1];
  return new Map(node.members.map((member) => {
    const gap = [before, node.doc.text.slice(end, member.node.start)];
    [before, end] = [`=${member.key}`, member.node.end];
    return [member.key, gap];
  }));
}

/** The same for two objects that differ. */
function isObjectLaidOutAnew(base, side) {
  const [gaps, others] = [gapsOf(base), gapsOf(side)];
  return base.members.some(({ key, node }) => {
    if (!side.byKey.has(key)) return false;
    const [gap, other] = [gaps.get(key), others.get(key)];
    return (gap[0] === other[0] && gap[1] !== other[1]) || isLaidOutAnew(node, memberOf(side, key));
  });
}

/** The same for the items of two lists that differ. */
function isListLaidOutAnew(base, side) {
  const { head, tail } = sharedEnds([base, side], isEqual);
  const paired = base.length === side.length ? base.length : head;
  const starts = base.slice(0, paired).map((item, at) => [item, side[at]]);
  const shift = side.length - base.length;
  const ends = base.slice(base.length - tail).map((item, at) => (
    [item, side[base.length - tail + at + shift]]));
  return [...starts, ...ends].some(([one, other]) => isLaidOutAnew(one, other));
}

/** The side whose text is written into: 'ours' or 'theirs'. */
function targetOf({ base, ours, theirs }) {
  const [mine, yours] = [ours, theirs].map((doc) => base && isLaidOutAnew(base.root, doc.root));
  if (Boolean(mine) !== Boolean(yours)) return mine ? 'ours' : 'theirs';
  return compareText(ours.text, theirs.text) <= 0 ? 'ours' : 'theirs';
}

module.exports = { indentAt, styleOf, targetOf };
