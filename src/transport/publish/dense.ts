import { promisify } from 'node:util';
import { constants, deflate } from 'node:zlib';
import type { Commit } from '../../protocol/commit.ts';

const deflated = promisify(deflate);

/** Bytes of which a few pieces tell whether compression would make them smaller. */
const LARGE = 1 << 18;
const PIECE = 1 << 14;
/** Bytes that may travel uncompressed for the sake of what would not become smaller. */
const LIGHT = 1 << 16;

/**
 * Whether git need not try to compress what is pushed: nearly all of it are files that would not become
 * smaller, such as pictures and archives. To try takes longer than the rest of such a push.
 */
export function isAllDense(commits: readonly Commit[]): boolean {
  let [dense, other] = [0, 0];
  for (const { files, blobs = [] } of commits) {
    for (const { content } of files) other += content.length;
    for (const blob of blobs)
      if (blob.dense === true) dense += blob.bytes;
      else other += blob.bytes;
  }
  return dense > 0 && other <= LIGHT;
}

/** Whether compression would make bytes no smaller that are many enough for it to matter. */
export async function isDense(bytes: Buffer): Promise<boolean> {
  if (bytes.length < LARGE) return false;
  const places = [0, bytes.length / 2, bytes.length - PIECE].map(Math.floor);
  const pieces = Buffer.concat(places.map((at) => bytes.subarray(at, at + PIECE)));
  const packed = await deflated(pieces, { level: constants.Z_BEST_SPEED });
  return packed.length > 0.97 * pieces.length;
}
