'use strict';
// Reads JSON as RFC 8259 has it. Numbers stay text, and every value knows where it stands.

const MOST_BYTES = 8 * 1024 * 1024;
const MOST_LEVELS = 100;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORDS = ['null', 'false', 'true'];

/** The text is no JSON, or not JSON that can be merged. */
class JsonTextError extends Error {}

/**
 * A value in a document. kind: 'object', 'list', 'text', 'number' or 'word' (null, false, true).
 * members (of an object): [{key, start, keyEnd, node}]; items (of a list): [node];
 * value: the text as read, the number as written, or the word.
 * @typedef {{kind: string, doc: Document, start: number, end: number, value?: string,
 *   members?: Array, byKey?: Map, items?: Array}} Node
 */

/** One pass over a text. Makes the nodes of a document. */
class Reader {
  constructor(doc, start) {
    this.doc = doc;
    this.text = doc.text;
    this.at = start;
  }

  /** Gives up. */
  fail(why) {
    throw new JsonTextError(`${why} at character ${this.at}`);
  }

  /** Goes on to what is no space. */
  skipSpace() {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
  }

  /** Whether `sign` is next, which is then behind us. */
  takes(sign) {
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  /** The value that begins here. */
  readValue(level) {
    const start = this.at;
    const first = this.text[start];
    let found;
    if (first === '{') found = this.readObject(level + 1);
    else if (first === '[') found = this.readList(level + 1);
    else if (first === '"') found = { kind: 'text', value: this.readText() };
    else found = this.readWordOrNumber();
    return { ...found, doc: this.doc, start, end: this.at };
  }

  /** null, false, true or a number. */
  readWordOrNumber() {
    for (const word of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return { kind: 'word', value: word };
      }
    }
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (!match) this.fail('no value');
    this.at = NUMBER.lastIndex;
    return { kind: 'number', value: match[0] };
  }

  /** A text, without its quotes and escapes. */
  readText() {
    const start = this.at;
    let plain = true;
    this.at += 1;
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (Number.isNaN(code) || code < 0x20) this.fail('a text without end');
      if (code === 0x22) break;
      if (code === 0x5c) {
        plain = false;
        ESCAPE.lastIndex = this.at;
        if (!ESCAPE.test(this.text)) this.fail('an unknown escape');
        this.at = ESCAPE.lastIndex;
      } else this.at += 1;
    }
    this.at += 1;
    return plain ? this.text.slice(start + 1, this.at - 1)
      : JSON.parse(this.text.slice(start, this.at));
  }

  /** Reads what is between two brackets, with `readOne` for each member or item. */
  readBetween(level, close, readOne) {
    if (level > MOST_LEVELS) this.fail('too many levels');
    this.at += 1;
    this.skipSpace();
    if (this.takes(close)) return;
    do {
      this.skipSpace();
      readOne();
      this.skipSpace();
    } while (this.takes(','));
    if (!this.takes(close)) this.fail(`no ${close}`);
  }

  /** An object, at its bracket. */
  readObject(level) {
    const byKey = new Map();
    this.readBetween(level, '}', () => {
      const start = this.at;
      if (this.text[start] !== '"') this.fail('no key');
      const key = this.readText();
      const keyEnd = this.at;
      this.skipSpace();
      if (!this.takes(':')) this.fail('no colon');
      this.skipSpace();
      if (byKey.has(key)) this.fail('a key twice');
      byKey.set(key, { key, start, keyEnd, node: this.readValue(level) });
    });
    return { kind: 'object', byKey, members: [...byKey.values()] };
  }

  /** A list, at its bracket. */
  readList(level) {
    const items = [];
    this.readBetween(level, ']', () => items.push(this.readValue(level)));
    return { kind: 'list', items };
  }
}

/** A document: its whole text (with a byte order mark if it has one) and its root. */
class Document {
  constructor(text) {
    this.text = text;
    const reader = new Reader(this, text.startsWith('\ufeff') ? 1 : 0);
    reader.skipSpace();
    this.root = reader.readValue(0);
    reader.skipSpace();
    if (reader.at < text.length) reader.fail('more text behind the value');
  }

  /** @param {Buffer} bytes */
  static read(bytes) {
    if (bytes.length > MOST_BYTES) throw new JsonTextError('larger than 8 MB');
    let text;
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new JsonTextError('not UTF-8');
    }
    return new Document(text);
  }
}

/** The text that a value has in its document. */
function sourceOf(node) {
  return node.doc.text.slice(node.start, node.end);
}

module.exports = { Document, JsonTextError, sourceOf };
