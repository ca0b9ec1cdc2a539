'use strict';
// Writes a result into the text of ours (the target). The text comes in chunks: a text that all
// sides have, or {abouts, ours, base, theirs}, what each side has where they conflict.

const { SIDES } = require('./result');
const { quote } = require('./value');
const { indentAt, styleOf } = require('./style');
const { sourceOf } = require('./text');

/** The text of chunks as one side has it. */
function pick(chunks, side) {
  return chunks.map((chunk) => (typeof chunk === 'string' ? chunk : chunk[side])).join('');
}

/** The members or items of a container. */
function partsOf(node) {
  return node.members || node.items;
}

/** Where a member or an item ends. */
function endOf(part) {
  return part.node ? part.node.end : part.end;
}

/** Collects chunks. Between two texts of all sides, what they differ in becomes one chunk. */
class Chunks {
  constructor() {
    this.done = [];
    this.open = null;
  }

  /** Chunks that all sides have, or that are complete. */
  addAll(chunks) {
    if (this.open) this.done.push(this.open);
    this.open = null;
    this.done.push(...chunks);
  }

  /** texts: what ours, base and theirs have. about: the conflict that this is, if it is one. */
  addDiffering(texts, about) {
    if (!this.open) this.open = { abouts: new Set(), ours: '', base: '', theirs: '' };
    SIDES.forEach((side, at) => { this.open[side] += texts[at]; });
    if (about) this.open.abouts.add(about);
  }

  /** What is between two parts: of ours, base and theirs, 0 for a side that has no second part. */
  addGaps(gaps) {
    if (gaps.every((gap) => gap !== 0 && gap === gaps[0])) this.addAll([gaps[0]]);
    else this.addDiffering(gaps.map((gap) => gap || ''));
  }
}

/** Writes into one target. */
class Writer {
  constructor(target) {
    this.target = target;
    this.style = styleOf(target);
  }

  /** The whole document. */
  write(result, { base, theirs }) {
    const { text, root } = this.target;
    const before = (doc) => doc.text.slice(0, doc.root.start);
    const behind = (doc) => doc.text.slice(doc.root.end);
    const around = [before, behind].map((read) => (
      this.edge(read(this.target), base && read(base), read(theirs))));
    const chunks = this.render(result, { indent: indentAt(text, root.start), inline: false });
    return [around[0], ...chunks, around[1]];
  }

  /** What stands around the root: three-way, apart from line ends, which count where the target has one line. */
  edge(mine, before, yours) {
    const { text, root } = this.target;
    if (!text.slice(0, root.end).includes('\n')) return mine === before ? yours : mine;
    const [left, middle, right] = [mine, before, yours].map((one) => (
      one === null ? null : one.replaceAll('\r\n', '\n')));
    return left === middle && right !== middle ? right.replaceAll('\n', this.style.eol) : mine;
  }

  /**
   * The chunks of a result.
   * @param {{indent: string, inline: boolean}} at the indentation of the line that it stands on,
   *   and whether it stands in a container on one line
   */
  render(result, at) {
    if (result.type === 'source') return [this.textOf(result.node, at)];
    if (result.type === 'conflict') {
      const chunks = new Chunks();
      const one = (side) => result[side].map((entry) => pick(this.render(entry.value, at), side));
      chunks.addDiffering(SIDES.map((side) => one(side).join('')), result.about);
      chunks.addAll([]);
      return chunks.done;
    }
    return this.container(result, at);
  }

  /** The gaps of a container that is put together anew. */
  frameOf({ shape, other }, at) {
    const { eol, unit, comma } = this.style;
    const parts = shape ? partsOf(shape) : [];
    if (parts.length) {
      const { text } = this.target;
      const inline = !sourceOf(shape).includes('\n');
      const open = text.slice(shape.start + 1, parts[0].start);
      const close = text.slice(endOf(parts[parts.length - 1]), shape.end - 1);
      let between = open.includes('\n') ? `,${open}` : comma;
      if (parts.length > 1) between = text.slice(endOf(parts[0]), parts[1].start);
      const indent = open.includes('\n') ? open.slice(open.lastIndexOf('\n') + 1)
        : indentAt(text, shape.start);
      return { parts, open, between, close, at: { indent, inline } };
    }
    if (at.inline || (other && !sourceOf(other).includes('\n'))) {
      const inside = { indent: at.indent, inline: true };
      return { parts, open: '', between: comma, close: '', at: inside };
    }
    const outer = shape ? indentAt(this.target.text, shape.start) : at.indent;
    const open = eol + outer + unit;
    return { parts, open, between: `,${open}`, close: eol + outer,
      at: { indent: outer + unit, inline: false } };
  }

  /** An object or a list that is put together. */
  container(result, at) {
    const frame = this.frameOf(result, at);
    const { text } = this.target;
    const indexes = new Map(frame.parts.map((part, index) => [part.key ?? part, index]));
    const indexOf = (part) => indexes.get(part.key === null ? part.anchor : part.key);
    const gap = (one, other) => {
      if (!one && !other) return '';
      if (!one) return frame.open;
      if (!other) return frame.close;
      const [left, right] = [indexOf(one), indexOf(other)];
      if (left === undefined || right !== left + 1) return frame.between;
      return text.slice(endOf(frame.parts[left]), frame.parts[right].start);
    };
    const chunks = new Chunks();
    const [opening, closing] = result.type === 'object' ? '{}' : '[]';
    const last = { ours: null, base: null, theirs: null };
    chunks.addAll([opening]);
    for (const part of this.partsIn(result, frame)) {
      chunks.addGaps(SIDES.map((side) => part[side].length && gap(last[side], part[side][0])));
      if (part.chunks) chunks.addAll(part.chunks);
      else {
        const run = (side) => part[side].map((one, at) => (
          (at ? gap(part[side][at - 1], one) : '') + one.text)).join('');
        chunks.addDiffering(SIDES.map(run), part.about);
      }
      for (const side of SIDES) last[side] = part[side][part[side].length - 1] || last[side];
    }
    chunks.addGaps(SIDES.map((side) => gap(last[side], null)));
    chunks.addAll([closing]);
    return chunks.done;
  }

  /**
   * The members or items of a result: each with what every side has of it, and either `chunks` or,
   * for a conflict, `about` and a text for each.
   */
  partsIn(result, frame) {
    return result.entries.map(({ key = null, value, anchor }) => {
      const start = key === null ? '' : this.keyText(result, key);
      if (value.type !== 'conflict') {
        const part = { key, anchor };
        return { ours: [part], base: [part], theirs: [part],
          chunks: [start, ...this.render(value, frame.at)] };
      }
      const textsOn = (side) => value[side].map((one) => ({ key, anchor: one.anchor,
        text: start + pick(this.render(one.value, frame.at), side) }));
      return { about: value.about, ours: textsOn('ours'), base: textsOn('base'),
        theirs: textsOn('theirs') };
    });
  }

  /** A key, and what is between it and its value. */
  keyText({ shape, other }, key) {
    const own = shape && shape.byKey.get(key);
    if (own) return this.target.text.slice(own.start, own.node.start);
    const foreign = other && other.byKey.get(key);
    const spelled = foreign ? other.doc.text.slice(foreign.start, foreign.keyEnd) : quote(key);
    return spelled + this.style.colon;
  }

  /** The text of a value that is taken whole. */
  textOf(node, at) {
    const text = sourceOf(node);
    if (node.doc === this.target) return text;
    if (!node.doc.fresh && !text.includes('\n')) return text;
    if (at.inline) return this.onOneLine(node);
    const { eol, unit } = styleOf(node.doc);
    if (node.doc.fresh || eol !== this.style.eol || unit !== this.style.unit) {
      return this.anew(node, at.indent);
    }
    const indent = indentAt(node.doc.text, node.start);
    return text.split('\n').map((line, number) => (
      number && line.startsWith(indent) ? at.indent + line.slice(indent.length) : line)).join('\n');
  }

  /** A value on one line. */
  onOneLine(node) {
    return this.written(node, this.style.comma, '', (one) => this.onOneLine(one));
  }

  /** A value with a line for each member. */
  anew(node, indent) {
    const { eol, unit } = this.style;
    const line = eol + indent + unit;
    return this.written(node, `,${line}`, [line, eol + indent],
      (one) => (sourceOf(one).includes('\n') || one.doc.fresh ? this.anew(one, indent + unit)
        : sourceOf(one)));
  }

  /** A value with the given texts between and around its parts. */
  written(node, between, [open = '', close = ''], write) {
    const parts = partsOf(node);
    if (!parts || !parts.length) return parts ? (node.members ? '{}' : '[]') : sourceOf(node);
    const texts = node.members
      ? parts.map((one) => node.doc.text.slice(one.start, one.keyEnd) + this.style.colon
        + write(one.node))
      : parts.map(write);
    const inside = open + texts.join(between) + close;
    return node.members ? `{${inside}}` : `[${inside}]`;
  }
}

module.exports = { Writer, pick };
