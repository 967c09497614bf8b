import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CrosstalkError, hasCode, reasonOf } from '../../errors.ts';
import { isName } from '../../protocol/layout.ts';
import { publicKeyIn } from '../../protocol/signed.ts';
import { isRecord, writeSealed } from '../files.ts';
import { acquire } from '../lock.ts';
import { Seal } from '../../store/seal.ts';

/** A key by which this machine verifies the messages of a name (trust.md). */
export interface Pin {
  name: string;
  /** An OpenSSH public key: its type, and the key in base64. */
  key: string;
  /** Its fingerprint, as `ssh-keygen -l` prints it, such as `SHA256:…`. */
  fingerprint: string;
  /** The owner's comment on the key. */
  comment: string;
  /** Time of pinning, ISO 8601 in UTC. */
  at: string;
}

/** Milliseconds to wait for another process that writes its pins. */
const WAIT_MS = 10_000;

/**
 * Reads the keys pinned on this machine, which never come from the transport; none without a file.
 *
 * @throws CrosstalkError `invalid` for a file that cannot be read: damaging it must not be a way to
 *   impersonate anybody
 */
export async function loadPins(path: string): Promise<Pin[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw broken(path, reasonOf(error));
  }
  const whole = Seal.of(path).open('', text);
  if (whole === undefined) throw broken(path, 'this machine has not written it');
  const pins = pinsIn(whole);
  if (pins === undefined) throw broken(path, 'it is no list of keys');
  return pins;
}

function pinsIn(text: string): Pin[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const pins: unknown = isRecord(value) && value['version'] === 1 ? value['pins'] : undefined;
    return Array.isArray(pins) && pins.every(isPin) ? pins : undefined;
  } catch {
    return undefined;
  }
}

function isPin(value: unknown): value is Pin {
  if (!isRecord(value) || !isName(value['name'])) return false;
  const { key, fingerprint, comment, at } = value;
  const isText = [key, fingerprint, comment, at].every((text) => typeof text === 'string');
  return isText && publicKeyIn(String(key)) !== undefined;
}

function broken(path: string, why: string): CrosstalkError {
  return new CrosstalkError(
    'invalid',
    `the pinned keys in ${path} cannot be read: ${why}; remove the file, and pin them again with: crosstalk key pin <name> <key>`,
  );
}

/**
 * Changes the pinned keys, one process at a time.
 *
 * @throws CrosstalkError `locked` when another process does not finish writing them, and the errors of
 *   {@link loadPins}
 */
export async function changePins(
  path: string,
  change: (pins: readonly Pin[]) => readonly Pin[],
): Promise<void> {
  const lock = await acquire(dirname(path), 'pins', { wait: WAIT_MS });
  if (!lock.ok)
    throw new CrosstalkError(
      'locked',
      `process ${String(lock.holder.pid)} is writing ${path}; try again when it has ended`,
    );
  try {
    const pins = change(await loadPins(path));
    await writeSealed(path, { version: 1, pins });
  } finally {
    await lock.release();
  }
}
