'use strict';
// Instants and exact decimals.

const DATE = /^(\d{4})-(\d\d)-(\d\d)/;
const TIME = /[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?/;
const OFFSET = /(?:[Zz]|([+-])(\d\d):?(\d\d))?$/;
const INSTANT = new RegExp(DATE.source + TIME.source + OFFSET.source);
const MOST_DIGITS = 1000;
const MOST_IN_EXPONENT = 5;

/**
 * The instant that a value names, or null.
 * @returns {{seconds: number, fraction: string} | null}
 */
function instantOf(node) {
  const match = node && node.kind === 'text' ? INSTANT.exec(node.value) : null;
  if (!match) return null;
  const [year, month, day, hour, minute] = match.slice(1, 6).map(Number);
  const second = Number(match[6] || 0);
  const [offsetHours, offsetMinutes] = [Number(match[9] || 0), Number(match[10] || 0)];
  if (hour > 23 || minute > 59 || second > 60) return null;
  if (offsetHours > 23 || offsetMinutes > 59) return null;
  if (year < 1) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const offset = (offsetHours * 60 + offsetMinutes) * 60 * (match[8] === '-' ? -1 : 1);
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset;
  return { seconds, fraction: (match[7] || '').replace(/0+$/, '') };
}

/** Compares two instants. */
function compareInstants(one, other) {
  if (one.seconds !== other.seconds) return one.seconds - other.seconds;
  if (one.fraction === other.fraction) return 0;
  return one.fraction < other.fraction ? -1 : 1;
}

/**
 * A number exactly: digits / 10 ** scale. Null for what is no number, or has too many digits.
 * @returns {{digits: bigint, scale: number} | null}
 */
function decimalOf(node) {
  if (!node || node.kind !== 'number' || node.value.length > MOST_DIGITS) return null;
  const [, sign, whole, fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(node.value);
  const scale = fraction.length - Number(power);
  if (power.length > MOST_IN_EXPONENT || Math.abs(scale) > MOST_DIGITS) return null;
  const digits = BigInt(sign + whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** The digits of a decimal that has `scale` decimals. */
function digitsAt(decimal, scale) {
  return decimal.digits * 10n ** BigInt(scale - decimal.scale);
}

/** Compares two decimals. */
function compareDecimals(one, other) {
  const scale = Math.max(one.scale, other.scale);
  const [left, right] = [digitsAt(one, scale), digitsAt(other, scale)];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** ours + theirs - base as text, with as many decimals as the number with the most. */
function addChanges(base, ours, theirs) {
  const scale = Math.max(base.scale, ours.scale, theirs.scale);
  const sum = digitsAt(ours, scale) + digitsAt(theirs, scale) - digitsAt(base, scale);
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  return `${sum < 0n ? '-' : ''}${whole}${scale ? `.${digits.slice(-scale)}` : ''}`;
}

module.exports = { addChanges, compareDecimals, compareInstants, decimalOf, instantOf };
