'use strict';
// What values are equal, and which comes first. An absent value is null.

const { Document } = require('./text');

/** The members that tell things apart without a rule, first choice first. */
const NATURAL_KEYS = ['id', 'number', 'name', 'sha', 'path'];
const KINDS = ['null', 'false', 'true', 'number', 'text', 'list', 'object'];
const SHORT = { '"': '\\"', '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r',
  '\t': '\\t' };

/** Compares two texts by code point; JavaScript itself compares UTF-16 units. */
function compareText(one, other) {
  const shorter = Math.min(one.length, other.length);
  let at = 0;
  while (at < shorter && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  if (at === shorter) return one.length - other.length;
  const before = at > 0 ? one.charCodeAt(at - 1) : 0;
  if (before >= 0xd800 && before < 0xdc00) at -= 1;
  return one.codePointAt(at) - other.codePointAt(at);
}

/** A text as JSON with as few escapes as possible. */
function quote(text) {
  const escape = (sign) => SHORT[sign] || `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `"${text.replace(/["\\\u0000-\u001f]/g, escape)}"`;
}

/** The canonical text of an object, from its keys and the canonical texts of their values. */
function canonObject(pairs) {
  const sorted = [...pairs].sort((one, other) => compareText(one[0], other[0]));
  return `{${sorted.map(([key, canon]) => `${quote(key)}:${canon}`).join(',')}}`;
}

/** The canonical text of a value: equal for equal values, different for others. */
function canonOf(node) {
  if (node.canon === undefined) {
    if (node.kind === 'text') node.canon = quote(node.value);
    else if (node.kind === 'list') node.canon = `[${node.items.map(canonOf).join(',')}]`;
    else if (node.kind === 'object') {
      node.canon = canonObject(node.members.map((one) => [one.key, canonOf(one.node)]));
    } else node.canon = node.value;
  }
  return node.canon;
}

/** Whether two places hold the same: equal values, or both nothing. */
function isEqual(one, other) {
  if (one === null || other === null) return one === other;
  return one === other || canonOf(one) === canonOf(other);
}

/** How many items all lists begin with, and how many of the rest they all end with. */
function sharedEnds(lists, areSame) {
  const most = Math.min(...lists.map((list) => list.length));
  const agree = (read) => lists.every((list) => areSame(read(list), read(lists[0])));
  let head = 0;
  while (head < most && agree((list) => list[head])) head += 1;
  let tail = 0;
  while (tail < most - head && agree((list) => list[list.length - 1 - tail])) tail += 1;
  return { head, tail };
}

/** Compares two values by their canonical rank. */
function compareRank(one, other) {
  const kind = (node) => KINDS.indexOf(node.kind === 'word' ? node.value : node.kind);
  if (kind(one) !== kind(other)) return kind(one) - kind(other);
  if (one.kind === 'number') {
    const [left, right] = [Number(one.value), Number(other.value)];
    if (left !== right) return left < right ? -1 : 1;
  }
  if (one.kind === 'text') return compareText(one.value, other.value);
  return compareText(canonOf(one), canonOf(other));
}

/** Compares two lists item by item; one that the other begins with is smaller. */
function compareLists(one, other, compare) {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const found = compare(one[at], other[at]);
    if (found) return found;
  }
  return one.length - other.length;
}

/** What an object has at a key; null if it has not, or is no object. */
function memberOf(node, key) {
  const found = node && node.kind === 'object' ? node.byKey.get(key) : undefined;
  return found ? found.node : null;
}

/** The names in a JSON Pointer. */
function namesIn(pointer) {
  const names = pointer.split('/').slice(1);
  return names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What a JSON Pointer leads to, through objects; null if nowhere. */
function lookUp(node, pointer) {
  return namesIn(pointer).reduce(memberOf, node);
}

/** The pointer to a member or an item of the place that `path` leads to. */
function pathTo(path, name) {
  return `${path}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A node of a document of its own, for what stands in no file. */
function freshNode(text) {
  const doc = new Document(text);
  doc.fresh = true;
  return doc.root;
}

module.exports = { NATURAL_KEYS, canonObject, canonOf, compareLists, compareRank, compareText,
  freshNode, isEqual, lookUp, memberOf, namesIn, pathTo, quote, sharedEnds };
