import { createHmac, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { atPath } from '../at-path.ts';
import { CrosstalkError } from '../errors.ts';
import { plainFileAt, putNew } from '../plain-file.ts';

/*
 * A record of the state counts because this machine wrote it, not because a file of its name is there (trust.md §7): it
 * carries a code that only the key of the state directory makes, over its kind, its name and its content. A program
 * that can be made to write a file there, but not to read the key, can neither forge a record nor rename one.
 */

/** Name of the key's file in a state directory; its mode is 0600. */
const NAME = 'state.key';
const KEY = /^[0-9a-f]{64}$/;
const MOST = 1024;

/** Cached keys by state directory, each with the identity of the file that it was read from. */
const known = new Map<string, { key: Buffer; file: string }>();

/**
 * Reads the key of a state directory.
 *
 * @throws CrosstalkError `refused` if something else is in its place
 */
function readKey(root: string): Buffer | undefined {
  const path = join(root, NAME);
  const { ino = 0, mtimeMs = 0 } = atPath(path, { follow: false }) ?? {};
  const file = `${String(ino)} ${String(mtimeMs)}`;
  const kept = known.get(root);
  if (kept?.file === file && ino !== 0) return kept.key;
  const found = plainFileAt(path, MOST, { follow: false });
  if (found.kind === 'text' && KEY.test(found.text.trim())) {
    const key = Buffer.from(found.text.trim(), 'hex');
    known.set(root, { key, file });
    return key;
  }
  if (found.kind === 'absent') return undefined;
  const why = found.kind === 'odd' ? found.why : 'is no key';
  throw new CrosstalkError(
    'refused',
    `${path} ${why}, and without this key no record of this machine counts: put it back from a copy, or remove it and approve anew with: crosstalk host approve`,
  );
}

/** Returns the key of a state directory, created if there is none, so that two processes never create two. */
function keyOf(root: string): Buffer {
  return readKey(root) ?? makeKey(root);
}

/** Creates the key of a state directory that has none. */
export function makeKey(root: string): Buffer {
  const path = join(root, NAME);
  const whole = `${path}.${String(process.pid)}.0.tmp`;
  try {
    const file = openSync(whole, 'wx', 0o600);
    try {
      writeFileSync(file, `${randomBytes(32).toString('hex')}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    putNew(whole, path);
  } finally {
    rmSync(whole, { force: true });
  }
  const made = readKey(root);
  if (made === undefined) throw new Error(`${path} was removed while it was made`);
  return made;
}

/** Whether a state directory has a key, as every one has that this version has opened. */
export function hasKey(root: string): boolean {
  return readKey(root) !== undefined;
}

function codeOf(key: Buffer, ...parts: readonly string[]): string {
  const hmac = createHmac('sha256', key);
  // The length of each, so that no two lists of parts are the same bytes.
  for (const part of parts) hmac.update(`${String(part.length)}:`).update(part);
  return hmac.digest('base64url');
}

const BEGIN = ',"seal":"';
const END = '"}\n';
const LENGTH = BEGIN.length + 43 + END.length;

/** A seal for the records of one kind. */
export class Seal {
  readonly #root: string;
  readonly #kind: string;

  /** @param root the state directory */
  constructor(root: string, kind: string) {
    this.#root = root;
    this.#kind = kind;
  }

  /** Returns the seal for records named after a path in a state directory: a file, or the items of a folder. */
  static of(path: string): Seal {
    return new Seal(dirname(path), basename(path));
  }

  /** Returns the JSON text of an object that is not empty, with its seal as the last property. */
  close(id: string, value: object): string {
    const body = JSON.stringify(value, undefined, 1).slice(0, -2);
    return `${body}${BEGIN}${codeOf(keyOf(this.#root), this.#kind, id, body)}${END}`;
  }

  /** Returns the JSON text that was sealed; undefined if this machine has not sealed it under this name. */
  open(id: string, text: string): string | undefined {
    const key = readKey(this.#root);
    if (key === undefined || !text.endsWith(END)) return undefined;
    const body = text.slice(0, -LENGTH);
    const seal = `${BEGIN}${codeOf(key, this.#kind, id, body)}${END}`;
    return text.slice(-LENGTH) === seal ? `${body}}` : undefined;
  }

  /** Derives a name for a text, which cannot be computed without the key. */
  name(...parts: readonly string[]): string {
    return codeOf(keyOf(this.#root), this.#kind, ...parts);
  }
}

/**
 * Returns the hash behind the digests of held changes. A digest is short enough to be typed, so somebody who could
 * compute digests would find two texts with the same digest, have the harmless text examined and the other one
 * approved.
 *
 * @param approvals the path of the approvals
 */
export function approvalHash(approvals: string): (text: string) => string {
  let key: Buffer | undefined;
  try {
    key = keyOf(dirname(approvals));
  } catch {
    // If nothing can be written, nothing can be approved either, but changes may still be looked at.
  }
  const used = key ?? randomBytes(32);
  return (text) => createHmac('sha256', used).update(`approval ${text}`).digest('hex');
}
