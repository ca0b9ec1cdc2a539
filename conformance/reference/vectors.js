#!/usr/bin/env node
'use strict';
// Merges vectors in one process: reads a list of {id, base, ours, theirs, schema} as JSON from standard input, and
// prints a line of JSON for each: {id, code, data}, the exit code and the file of ours afterwards in base64.

const fs = require('fs');
const { GAVE_UP, MOST_CONFLICTS, isKnownError, mergeDocuments } = require('./merge');
const { Document } = require('./text');

const MARKER_SIZE = 7;

/** The bytes of a version: a text, or an object for bytes that are no UTF-8. */
function bytesOf(version) {
  if (typeof version === 'string') return Buffer.from(version, 'utf8');
  return Buffer.from(version.base64, 'base64');
}

/** Merges one vector. @returns {{code: number, data: Buffer}} */
function answer(vector) {
  const base = bytesOf(vector.base);
  const ours = bytesOf(vector.ours);
  try {
    const docs = { base: base.length ? Document.read(base) : null, ours: Document.read(ours),
      theirs: Document.read(bytesOf(vector.theirs)) };
    const { text, conflicts } = mergeDocuments(docs, vector.schema || {}, MARKER_SIZE);
    return { code: Math.min(conflicts, MOST_CONFLICTS), data: Buffer.from(text, 'utf8') };
  } catch (error) {
    if (!isKnownError(error)) throw error;
    return { code: GAVE_UP, data: ours };
  }
}

for (const vector of JSON.parse(fs.readFileSync(0, 'utf8'))) {
  const { code, data } = answer(vector);
  process.stdout.write(`${JSON.stringify({ id: vector.id, code, data: data.toString('base64') })}\n`);
}
