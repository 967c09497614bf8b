import { isDeepStrictEqual } from 'node:util';
import { applyEdits, modify } from 'jsonc-parser';
import { CrosstalkError } from '../../errors.ts';
import {
  commaAfter,
  endOf,
  member,
  parseJsonc,
  valueOf,
  type Node,
} from '../../protocol/text/jsonc.ts';

/** A member to set: the names that lead to it, and its value. */
export interface JsonMember {
  path: readonly string[];
  value: unknown;
}

/**
 * Sets members in a text of JSON, one after the other, and leaves everything else unchanged, byte
 * for byte: comments, order, blanks. A member that already has the value is left alone too. Missing
 * objects on the path are created. The parser's own `modify` would reformat the lines beside an
 * insertion, move the comment after the last member to the new one, and set the first of two
 * members with the same name, where programs read the last.
 *
 * @throws CrosstalkError `invalid` for a text that cannot be read, and when a part of the path is
 *   not an object
 */
export function editJsonc(text: string, settings: readonly JsonMember[]): string {
  return settings.reduce(set, text);
}

/**
 * Removes a member, with every other of the same name.
 *
 * @throws CrosstalkError `invalid` for a text that cannot be read
 */
export function removeJsonc(text: string, path: readonly string[]): string {
  let left = text;
  for (;;) {
    let node = parseJsonc(left);
    for (const key of path) node = member(node, key);
    if (node === undefined) return left;
    left = applyEdits(left, modify(left, [...path], undefined, {}));
  }
}

function set(text: string, { path, value }: JsonMember): string {
  const root = parseJsonc(text);
  if (root === undefined) {
    const end = text === '' || text.endsWith('\n') ? '' : '\n';
    const inner = path.reduceRight<unknown>((within, key) => ({ [key]: within }), value);
    return `${text}${end}${written(inner, '  ', 0, '\n')}\n`;
  }
  let node: Node = root;
  for (const [depth, key] of path.entries()) {
    if (node.type !== 'object') {
      const where = depth === 0 ? 'the file' : path.slice(0, depth).join('.');
      throw new CrosstalkError('invalid', `${where} is no object`);
    }
    const next = member(node, key);
    if (next === undefined) {
      const inner = path
        .slice(depth + 1)
        .reduceRight((within, name) => ({ [name]: within }), value);
      return insert(text, node, depth, key, inner);
    }
    node = next;
  }
  if (isDeepStrictEqual(valueOf(node), value)) return text;
  return splice(
    text,
    node.offset,
    endOf(node),
    written(value, unitOf(text), path.length, eolOf(text)),
  );
}

/** Inserts a new last member. */
function insert(text: string, object: Node, depth: number, key: string, value: unknown): string {
  const last = object.children?.at(-1);
  const comma = last && commaAfter(text, last);
  const unit = unitOf(text);
  const eol = eolOf(text);
  const isFlat = last !== undefined && !text.slice(object.offset, endOf(object)).includes('\n');
  if (isFlat) {
    const compact = `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    return comma === undefined
      ? splice(text, endOf(last), endOf(last), `, ${compact}`)
      : splice(text, comma, comma, ` ${compact},`);
  }
  const indent = last === undefined ? unit.repeat(depth + 1) : indentAt(text, last.offset);
  const level = Math.round(indent.length / unit.length);
  const line = `${eol}${indent}${JSON.stringify(key)}: ${written(value, unit, level, eol)}`;
  if (last === undefined) {
    // Comments in the object stay before the new member.
    const [start, end] = [object.offset + 1, endOf(object) - 1];
    const inside = text.slice(start, end).trimEnd();
    return splice(text, start, end, `${inside}${line}${eol}${unit.repeat(depth)}`);
  }
  if (comma !== undefined) {
    const behind = afterComment(text, comma);
    return splice(text, behind, behind, `${line},`);
  }
  const at = endOf(last);
  const after = afterComment(text, at);
  return splice(text, at, after, `,${text.slice(at, after)}${line}`);
}

/** Returns the end of a comment on the same line. */
function afterComment(text: string, at: number): number {
  const rest = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\n]*?\*\/[ \t]*(?=\r?\n))/.exec(text.slice(at));
  return at + (rest?.[0].length ?? 0);
}

function splice(text: string, start: number, end: number, replacement: string): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function written(value: unknown, unit: string, level: number, eol: string): string {
  const lines = JSON.stringify(value, undefined, unit).split('\n');
  return lines.join(`${eol}${unit.repeat(level)}`);
}

/** Returns one step of indentation, as the file uses it. */
function unitOf(text: string): string {
  const indents = [...text.matchAll(/^([ \t]+)["}\]{[]/gm)].map(([, indent = '']) => indent);
  const least = indents.reduce((a, b) => (b.length < a.length ? b : a), indents[0] ?? '  ');
  return least.startsWith('\t') ? '\t' : least;
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

/** Returns the blanks at the beginning of a line. */
function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}
