/** A file attached to a message (talk.md). Its description is what its sender claims. */
export interface AttachedFile {
  /** SHA-256 of its bytes, in lower-case hex; its only name in the transport. */
  sha256: string;
  /** Name of the file at its sender; never used unchanged as part of a path. */
  name: string;
  bytes: number;
  /** A media type, such as `image/png`; a hint for readers. */
  type: string;
}

const MIB = 1024 * 1024;

/** Most files of one message: their descriptions have to fit into a header of 64 KiB. */
export const MAX_FILES = 200;
/** Most bytes of all files of one message, unless the limit of one file is higher. */
const MAX_TOTAL_BYTES = 25 * MIB;
/** Most bytes of one file, unless `crosstalk.maxFileBytes` sets another limit. */
const MAX_FILE_BYTES = 10 * MIB;
/** Highest limit that can be set: forges accept no larger file. */
export const HIGHEST_BYTES = 100 * MIB;

/** Most characters of a name. */
const MAX_NAME = 255;
const SHA256 = /^[0-9a-f]{64}$/;
const NUMBER = /^\d{1,15}$/;
const TYPE = /^[a-z0-9][a-z0-9.+-]{0,60}\/[a-z0-9][a-z0-9.+-]{0,60}$/;
const UNKNOWN_TYPE = 'application/octet-stream';

export interface FileLimits {
  /** Most bytes of one file. */
  file: number;
  /** Most bytes of all files of a message. */
  total: number;
}

/**
 * Returns the limits for files in a clone, both for attaching and for extracting them.
 *
 * @param configured `git config crosstalk.maxFileBytes`; ignored unless it is a number
 */
export function fileLimits(configured: string | undefined): FileLimits {
  const wanted = NUMBER.test(configured ?? '') ? Number(configured) : MAX_FILE_BYTES;
  const file = Math.min(wanted, HIGHEST_BYTES);
  return { file, total: Math.max(MAX_TOTAL_BYTES, file) };
}

export function isSha256(value: unknown): value is string {
  return typeof value === 'string' && SHA256.test(value);
}

/** Parses the files in a header; undefined when the value cannot be read as a list of files. */
export function filesIn(value: unknown): AttachedFile[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_FILES) return undefined;
  const files = value.map(fileIn);
  return files.every((file) => file !== undefined) ? files : undefined;
}

function fileIn(value: unknown): AttachedFile | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { sha256, name, bytes, type } = value as Record<string, unknown>;
  const isCount = typeof bytes === 'number' || typeof bytes === 'string';
  if (!isSha256(sha256) || !isCount || !NUMBER.test(String(bytes))) return undefined;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) return undefined;
  const known = typeof type === 'string' && TYPE.test(type) ? type : UNKNOWN_TYPE;
  return { sha256, name, bytes: Number(bytes), type: known };
}

/** Whether a text can be the name of an attached file: displayed unchanged, it deceives nobody. */
export function isFileName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= MAX_NAME &&
    !/[\p{C}\u2028\u2029/\\]/u.test(value)
  );
}

/** Returns the reason why the files of a message cannot be sent, with what to do instead; undefined when they can. */
export function filesProblem(
  files: readonly AttachedFile[],
  limits: FileLimits,
): string | undefined {
  if (files.length > MAX_FILES)
    return `${String(files.length)} files are more than ${String(MAX_FILES)}; pack them into one archive, or send several messages`;
  const large = files.find(({ bytes }) => bytes > limits.file);
  if (large !== undefined) return tooLarge(large.name, large.bytes, limits);
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total > limits.total)
    return `the files have ${apart(total, limits.total)} together, more than the ${apart(limits.total, total)} of a message; send several messages`;
  return undefined;
}

function tooLarge(name: string, bytes: number, { file }: FileLimits): string {
  return `${JSON.stringify(name)} has ${apart(bytes, file)}, more than ${apart(file, bytes)}; every clone keeps a file for ever, so put large ones elsewhere and send where they are, or raise the limit of this clone: git config crosstalk.maxFileBytes ${String(bytes)}`;
}

/** Renders a size for people so that it reads differently from another one: in bytes if necessary. */
export function apart(bytes: number, other: number): string {
  const words = sizeInWords(bytes);
  return bytes !== other && words === sizeInWords(other) ? `${String(bytes)} bytes` : words;
}

/** Renders a size for people, such as `1.5 MiB`. */
export function sizeInWords(bytes: number): string {
  if (bytes < 1024) return `${String(bytes)} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return bytes < MIB ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`;
}

/** Describes a file in one line, such as `[file "a.png", image/png, 1.5 MiB]`. */
export function fileInWords({ name, type, bytes }: AttachedFile): string {
  return `[file ${JSON.stringify(name.replace(/[\p{C}\u2028\u2029]+/gu, ' '))}, ${type}, ${sizeInWords(bytes)}]`;
}

/** Most bytes of a name on disk; with its number it stays below the limit of file systems. */
const MAX_KEPT = 200;
const MOST_EXTENSION = 20;
const FILLERS = /[\p{C}\p{DI}\p{Zl}\p{Zp}]+/gu;
/** Names reserved by Windows, with any ending. */
const RESERVED =
  /^(?:con|prn|aux|nul|com[\d\u00b9\u00b2\u00b3]|lpt[\d\u00b9\u00b2\u00b3])(?:\.|$)/i;

/**
 * Returns the name under which a run receives a file: its number, and of its name only letters and digits of any
 * script, points and dashes. So it is not a path, not hidden, not an option and not the name of another file.
 *
 * @param number counted from 1
 */
export function harmlessName(number: number, name: string): string {
  const reduced = name.replace(FILLERS, ' ').replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '_');
  return `${String(number)}-${shortened(reduced)}`;
}

/**
 * Returns the names under which the files of a message are stored on a person's disk: the names their senders gave
 * them, in any script, but never a path, a hidden name, an option, a device, or a name with invisible characters. Names
 * that a file system might confuse, and those that must not be used unchanged, begin with their number.
 *
 * @param isTaken whether a program would use a file of this name as its own
 */
export function keptNames(
  names: readonly string[],
  isTaken: (name: string) => boolean,
): readonly string[] {
  const kept = names.map(keptName);
  const numbered = kept.map((name, at) => `${String(at + 1)}-${name}`);
  const keys = kept.map(comparable);
  const some = kept.map((name, at) => {
    const isAlone = keys.indexOf(keys[at] ?? '') === keys.lastIndexOf(keys[at] ?? '');
    return isAlone && !isTaken(name) ? name : (numbered[at] ?? '');
  });
  // A name may look like another one with its number.
  return new Set(some.map(comparable)).size === some.length ? some : numbered;
}

function keptName(name: string): string {
  const visible = name.replace(FILLERS, '_').replace(/[/\\<>:"|?*]/g, '_');
  const short = shortened(visible.trim());
  // Windows removes such endings, which results in another name.
  const last = Array.from(short).findLastIndex((character) => !'. '.includes(character));
  const plain =
    Array.from(short)
      .slice(0, last + 1)
      .join('') || '_';
  return /^[-.~]/.test(plain) || RESERVED.test(plain) ? `_${plain}` : plain;
}

function comparable(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

/** Shortens a name, keeping its ending. */
function shortened(name: string): string {
  const bytes = new TextEncoder();
  const point = name.lastIndexOf('.');
  const isEnding = point > 0 && name.length - point <= MOST_EXTENSION;
  const ending = isEnding ? name.slice(point) : '';
  const stem = Array.from(name.slice(0, name.length - ending.length));
  let left = MAX_KEPT - bytes.encode(ending).length;
  const fits = stem.findIndex((character) => (left -= bytes.encode(character).length) < 0);
  return `${(fits < 0 ? stem : stem.slice(0, fits)).join('')}${ending}`;
}

/** The first bytes of the pictures that a browser may show. */
const PICTURES: readonly [type: string, matches: (head: Uint8Array) => boolean][] = [
  ['image/png', (head) => hasAt(head, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ['image/jpeg', (head) => hasAt(head, 0, [0xff, 0xd8, 0xff])],
  ['image/gif', (head) => hasAt(head, 0, [0x47, 0x49, 0x46, 0x38])],
  [
    'image/webp',
    (head) => hasAt(head, 0, [0x52, 0x49, 0x46, 0x46]) && hasAt(head, 8, [0x57, 0x45, 0x42, 0x50]),
  ],
];

/** Returns the media type of a picture, determined only by its first bytes; undefined for others. */
export function pictureType(bytes: Uint8Array): string | undefined {
  return PICTURES.find(([, matches]) => matches(bytes))?.[0];
}

function hasAt(head: Uint8Array, at: number, expected: readonly number[]): boolean {
  return expected.every((byte, index) => head[at + index] === byte);
}

/** Returns the stated media type of a file: a picture, text, or bytes of any kind. */
export function typeOfBytes(bytes: Uint8Array): string {
  return pictureType(bytes) ?? (isText(bytes) ? 'text/plain' : UNKNOWN_TYPE);
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
