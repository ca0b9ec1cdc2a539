'use strict';
// Puts conflict markers around whole lines.

const SIDES = ['ours', 'base', 'theirs'];

/** Chunks whose differences cover whole lines: texts, and differences that end with a line. */
function toLines(chunks) {
  const lines = [];
  let open = null;
  for (const chunk of chunks) {
    if (typeof chunk !== 'string') {
      if (!open) {
        const before = lines.length ? lines.pop() : '';
        const cut = before.lastIndexOf('\n') + 1;
        lines.push(before.slice(0, cut));
        const start = before.slice(cut);
        open = { abouts: new Set(), ours: start, base: start, theirs: start };
        lines.push(open);
      }
      for (const side of SIDES) open[side] += chunk[side];
      chunk.abouts.forEach((about) => open.abouts.add(about));
    } else if (open) {
      const cut = chunk.indexOf('\n') + 1;
      const rest = cut ? chunk.slice(0, cut) : chunk;
      for (const side of SIDES) open[side] += rest;
      if (cut) {
        open = null;
        lines.push(chunk.slice(cut));
      }
    } else if (lines.length) lines.push(lines.pop() + chunk);
    else lines.push(chunk);
  }
  return lines;
}

/** A text as its lines, each with its line end. */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+$/g) || [];
}

/** Cuts the lines that ours and theirs share at the beginning and at the end. */
function trim(chunk) {
  const lines = Object.fromEntries(SIDES.map((side) => [side, linesOf(chunk[side])]));
  const cutShared = (read, remove) => {
    const cut = [];
    while (lines.ours.length && lines.theirs.length && read(lines.ours) === read(lines.theirs)) {
      const line = read(lines.ours);
      cut.push(line);
      for (const side of SIDES) if (read(lines[side]) === line) remove(lines[side]);
    }
    return cut;
  };
  const head = cutShared((list) => list[0], (list) => list.shift());
  const tail = cutShared((list) => list[list.length - 1], (list) => list.pop()).reverse();
  return { head: head.join(''), tail: tail.join(''), lines };
}

/**
 * The text with conflict markers.
 * @param {Array} chunks as the writer makes them
 * @param {{size: number, eol: string, swapped: boolean}} options swapped: ours and theirs were
 *   exchanged for the merge
 */
function withMarkers(chunks, { size, eol, swapped }) {
  const [first, second] = swapped ? ['theirs', 'ours'] : ['ours', 'theirs'];
  return toLines(chunks).map((chunk) => {
    if (typeof chunk === 'string') return chunk;
    const { head, tail, lines } = trim(chunk);
    if (!lines.ours.length && !lines.theirs.length) return head + tail;
    const label = [...chunk.abouts].map(({ places }) => (
      places.map((place) => place || '/').join(' with '))).join(' and ');
    const mark = (sign, name) => `${sign.repeat(size)}${name && ` ${name}: ${label}`}${eol}`;
    const textOf = (side) => lines[side].map((line) => (line.endsWith('\n') ? line : line + eol));
    return [head, mark('<', 'ours'), ...textOf(first), mark('|', 'base'), ...textOf('base'),
      mark('=', ''), ...textOf(second), mark('>', 'theirs'), tail].join('');
  }).join('');
}

module.exports = { withMarkers };
