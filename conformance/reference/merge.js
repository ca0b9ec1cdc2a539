#!/usr/bin/env node
'use strict';
// The command: merge.js [--schema FILE] [--marker-size N] OURS BASE THEIRS. Writes to OURS.

const fs = require('fs');
const path = require('path');
const { Document, JsonTextError } = require('./text');
const { SchemaError } = require('./refused');
const { Schemas } = require('./schema');
const { Merge } = require('./place');
const { addSuperseded } = require('./groups');
const { conflictOf, conflictsIn } = require('./result');
const { enforceAfter, isMixed } = require('./requirements');
const { targetOf } = require('./style');
const { Writer, pick } = require('./writer');
const { withMarkers } = require('./markers');

const GAVE_UP = 255;
const MOST_CONFLICTS = 127;

/**
 * Merges three documents. base is null if there is none.
 * @returns {{text: string, conflicts: number}}
 */
function mergeDocuments(docs, schema, size) {
  const { base, ours, theirs } = docs;
  if (base && base.text === ours.text) return { text: theirs.text, conflicts: 0 };
  if (base && base.text === theirs.text) return { text: ours.text, conflicts: 0 };
  const swapped = targetOf(docs) === 'theirs';
  const named = swapped ? { base, ours: theirs, theirs: ours } : docs;
  const roots = { base: base && base.root, ours: named.ours.root,
    theirs: named.theirs.root };
  const schemas = new Schemas(schema);
  const merge = new Merge(roots, schemas);
  const root = { ...roots, schema: schemas.root, path: '' };
  const result = isMixed(schemas.root, roots) ? conflictOf(root) : merge.place(root);
  if (result.type === 'object') {
    addSuperseded(merge, result);
    enforceAfter(schemas.root, roots, result);
  }
  const writer = new Writer(named.ours);
  const chunks = writer.write(result, named);
  for (const side of ['ours', 'theirs']) new Document(pick(chunks, side));
  const text = withMarkers(chunks, { size, eol: writer.style.eol, swapped });
  return { text, conflicts: conflictsIn(result).size };
}

/** Whether an error is about the input. */
function isKnownError(error) {
  return error instanceof JsonTextError || error instanceof SchemaError;
}

/** Writes a file beside its place, then renames it. */
function replaceFile(name, text) {
  const beside = path.join(path.dirname(name), `.${path.basename(name)}.${process.pid}`);
  try {
    fs.writeFileSync(beside, text);
    fs.renameSync(beside, name);
  } catch (error) {
    fs.rmSync(beside, { force: true });
    throw error;
  }
}

/** The options and files that the command was called with. */
function readArguments(words) {
  const options = { files: [], schema: null, size: 7 };
  const rest = [...words];
  while (rest.length) {
    const word = rest.shift();
    if (word === '--schema') options.schema = rest.shift();
    else if (word === '--marker-size') options.size = Number(rest.shift());
    else options.files.push(word);
  }
  const isSize = Number.isInteger(options.size) && options.size > 0;
  if (options.files.length !== 3 || !isSize || options.schema === undefined) {
    throw new Error('usage: merge.js [--schema FILE] [--marker-size N] OURS BASE THEIRS');
  }
  return options;
}

/** Runs the command. @returns {number} the exit code */
function main(words) {
  try {
    const { files, schema, size } = readArguments(words);
    const [ours, base, theirs] = files.map((name) => fs.readFileSync(name));
    const docs = { base: base.length ? Document.read(base) : null, ours: Document.read(ours),
      theirs: Document.read(theirs) };
    let rules = {};
    if (schema !== null) {
      const bytes = fs.readFileSync(schema);
      Document.read(bytes);
      rules = JSON.parse(bytes.toString().replace(/^\ufeff/, ''));
    }
    const { text, conflicts } = mergeDocuments(docs, rules, size);
    replaceFile(files[0], text);
    return Math.min(conflicts, MOST_CONFLICTS);
  } catch (error) {
    const why = isKnownError(error) ? error.message : error.stack;
    process.stderr.write(`merge.js: nothing was merged: ${why}\n`);
    return GAVE_UP;
  }
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));
module.exports = { GAVE_UP, MOST_CONFLICTS, isKnownError, mergeDocuments };
