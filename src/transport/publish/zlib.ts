import { deflateSync } from 'node:zlib';

/** Content of fewer bytes than this is stored as it is: to begin compressing takes longer than it saves. */
const SMALL = 4096;
/** The header of a zlib stream (RFC 1950) of the fastest kind. */
const HEADER = [0x78, 0x01];
/** The largest prime below 2^16, of the checksum. */
const PRIME = 65_521;

/**
 * Content in the zlib format, in which git keeps its objects. What is small becomes one stored block (RFC
 * 1951), as git's own reader takes it; git compresses it when it packs.
 */
export function inZlib(content: Buffer): Buffer {
  const { length } = content;
  if (length >= SMALL) return deflateSync(content, { level: 1 });
  const stored = Buffer.allocUnsafe(length + 11);
  stored.set(HEADER);
  // The last block, stored: its length, and that with every bit turned over.
  stored[2] = 1;
  stored.writeUInt16LE(length, 3);
  stored.writeUInt16LE(length ^ 0xffff, 5);
  content.copy(stored, 7);
  stored.writeUInt32BE(adler32(content), length + 7);
  return stored;
}

/** The checksum of a zlib stream, for content so short that no sum overflows. */
function adler32(content: Buffer): number {
  let a = 1;
  let b = 0;
  for (const byte of content) {
    a += byte;
    b += a;
  }
  return (b % PRIME) * 0x1_0000 + (a % PRIME);
}
