// A small three-way merge of JSON for comparison: what a plain script for Node does in the same place.
// node merge.js BASE OURS THEIRS: writes the result over OURS; exit 1 and untouched files where both sides differ.
"use strict";
const fs = require("fs");

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const keyOf = (item) => (isObject(item) && item.id !== undefined ? "id:" + item.id : JSON.stringify(item));

class Conflict extends Error {}

function merge(base, ours, theirs, where) {
  if (same(ours, theirs) || same(theirs, base)) return ours;
  if (same(ours, base)) return theirs;
  if (where === "/updated_at") return ours > theirs ? ours : theirs;
  if (isObject(ours) && isObject(theirs)) return mergeObjects(isObject(base) ? base : {}, ours, theirs, where);
  if (Array.isArray(ours) && Array.isArray(theirs)) return mergeLists(Array.isArray(base) ? base : [], ours, theirs, where);
  throw new Conflict(where);
}

function mergeObjects(base, ours, theirs, where) {
  const merged = {};
  for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const value = merge(base[key], ours[key], theirs[key], where + "/" + key);
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

function mergeLists(base, ours, theirs, where) {
  const [old, mine, yours] = [base, ours, theirs].map((list) => new Map(list.map((item) => [keyOf(item), item])));
  const merged = [];
  for (const [key, item] of mine) {
    if (yours.has(key)) merged.push(merge(old.get(key), item, yours.get(key), where + "/" + key));
    else if (!old.has(key)) merged.push(item);
    else if (!same(item, old.get(key))) throw new Conflict(where + "/" + key);
  }
  for (const [key, item] of yours) {
    if (mine.has(key)) continue;
    if (!old.has(key)) merged.push(item);
    else if (!same(item, old.get(key))) throw new Conflict(where + "/" + key);
  }
  return merged;
}

const [basePath, oursPath, theirsPath] = process.argv.slice(2);
const [base, ours, theirs] = [basePath, oursPath, theirsPath].map((path) => JSON.parse(fs.readFileSync(path, "utf8")));
try {
  fs.writeFileSync(oursPath, JSON.stringify(merge(base, ours, theirs, ""), null, 2) + "\n");
} catch (error) {
  if (!(error instanceof Conflict)) throw error;
  process.stderr.write("conflict at " + error.message + "\n");
  process.exitCode = 1;
}
