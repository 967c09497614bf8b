import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Device number of /dev/urandom on Linux: 1, 9. */
const URANDOM = 0x109;

/** Bytes read at once: for the names of a thousand messages, the device is opened twelve times. */
const AT_A_TIME = 512;
let drawn: Buffer = Buffer.alloc(0);

/**
 * Returns unguessable bytes of the system's generator; each byte is returned once. They are read from its
 * device, if there is one: a delegated `send` needs nothing else of `node:crypto`, which takes a tenth of the
 * time in which `send` loads.
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

/**
 * Reads bytes from the device.
 *
 * @throws Error if the device is missing, or is something else
 */
function fromDevice(length: number): Buffer {
  // A named pipe in its place must not block us.
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
