import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** The number of the device on Linux: 1, 9. */
const URANDOM = 0x109;

/** Bytes that are drawn at a time: for the names of a thousand messages, the device is opened twelve times. */
const AT_A_TIME = 512;
let drawn: Buffer = Buffer.alloc(0);

/**
 * Bytes that nobody can guess, of the system's generator; each is given once. They are read from its device,
 * where there is one: a `send` that is handed over needs nothing else of `node:crypto`, which takes a tenth of
 * the time that it loads in.
 */
export function randomOfSystem(length: number): Buffer {
  if (length > drawn.length) {
    if (length > AT_A_TIME) return draw(length);
    drawn = draw(AT_A_TIME);
  }
  const given = Buffer.from(drawn.subarray(0, length));
  drawn = drawn.fill(0, 0, length).subarray(length);
  return given;
}

function draw(length: number): Buffer {
  try {
    return fromDevice(length);
  } catch {
    return randomBytes(length);
  }
}

/** @throws Error where the device is missing, or is something else */
function fromDevice(length: number): Buffer {
  // A named pipe in its place is not waited for.
  const device = openSync('/dev/urandom', constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(length);
    const found = fstatSync(device);
    if (!found.isCharacterDevice()) throw new Error('it is no device');
    if (process.platform === 'linux' && found.rdev !== URANDOM) throw new Error('it is another');
    if (readSync(device, bytes, 0, length, null) !== length) throw new Error('it gave too little');
    return bytes;
  } finally {
    closeSync(device);
  }
}
