import { deflateSync, inflateSync } from 'node:zlib';

const HEAD = 8;
const COLOURS = 256;

/**
 * A picture of a screen in fewer bytes: with the colours it has most of, which the others become that
 * are nearest to them.
 *
 * @param png of 8 bits for each of red, green, blue, with or without alpha, as browsers take them
 */
export function smaller(png: Buffer): Buffer {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const rows = unfiltered(inflateSync(dataOf(png)), width, height, channels);
  const colourAt = (at: number): number => rows.readUIntBE(at * channels, 3);
  const counts = new Map<number, number>();
  for (let at = 0; at < width * height; at++)
    counts.set(colourAt(at), (counts.get(colourAt(at)) ?? 0) + 1);
  const palette = [...counts.keys()]
    .sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0))
    .slice(0, COLOURS);
  const indexes = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  const made = Buffer.alloc(height * (width + 1));
  for (let at = 0; at < width * height; at++)
    made[at + Math.floor(at / width) + 1] = indexes.get(colourAt(at)) ?? 0;
  const header = Buffer.from(png.subarray(16, 29));
  header[9] = 3;
  return Buffer.concat([
    png.subarray(0, HEAD),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
    chunk('IDAT', deflateSync(made, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const partsOf = (colour: number): number[] => [colour >> 16, (colour >> 8) & 255, colour & 255];

function nearest(palette: readonly number[], colour: number): number {
  const wanted = partsOf(colour);
  const apart = (one: number): number =>
    partsOf(one).reduce((sum, part, at) => sum + (part - (wanted[at] ?? 0)) ** 2, 0);
  let best = 0;
  let least = Infinity;
  for (const [index, one] of palette.entries()) {
    const distance = apart(one);
    if (distance < least) [best, least] = [index, distance];
    if (distance === 0) break;
  }
  return best;
}

function dataOf(png: Buffer): Buffer {
  const data: Buffer[] = [];
  for (let at = HEAD; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  return Buffer.concat(data);
}

/** The bytes of all rows as they were before PNG's filters (its specification, section 9). */
function unfiltered(data: Buffer, width: number, height: number, channels: number): Buffer {
  const long = width * channels;
  const out = Buffer.alloc(height * long);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (long + 1)] ?? 0;
    for (let x = 0; x < long; x++) {
      const left = x < channels ? 0 : (out[y * long + x - channels] ?? 0);
      const up = y === 0 ? 0 : (out[(y - 1) * long + x] ?? 0);
      const corner = x < channels || y === 0 ? 0 : (out[(y - 1) * long + x - channels] ?? 0);
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[y * long + x] = (data[y * (long + 1) + 1 + x] ?? 0) + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const all = [left, up, corner] as const;
  const guess = left + up - corner;
  return all.reduce((best, one) => (Math.abs(guess - one) < Math.abs(guess - best) ? one : best));
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const made = Buffer.alloc(body.length + 8);
  made.writeUInt32BE(data.length, 0);
  body.copy(made, 4);
  made.writeUInt32BE(crc(body), body.length + 4);
  return made;
}

/** The checksum of PNG's chunks. */
function crc(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
