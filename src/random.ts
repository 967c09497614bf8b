import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/**
 * Bytes that nobody can guess, of the system's generator. They are read from its device, where there is
 * one: a `send` that is handed over needs nothing else of `node:crypto`, which takes a tenth of the time
 * that it loads in.
 */
export function randomOfSystem(length: number): Buffer {
  try {
    return fromDevice(length);
  } catch {
    return randomBytes(length);
  }
}

/** @throws Error where the device is missing, or is something else */
function fromDevice(length: number): Buffer {
  const device = openSync('/dev/urandom', 'r');
  try {
    const bytes = Buffer.alloc(length);
    if (!fstatSync(device).isCharacterDevice()) throw new Error('it is no device');
    if (readSync(device, bytes, 0, length, null) !== length) throw new Error('it gave too little');
    return bytes;
  } finally {
    closeSync(device);
  }
}
