import { createHash } from 'node:crypto';
import { isFileName } from '../protocol/attached.ts';
import type { Blob, Commit } from '../protocol/commit.ts';
import type { FoundSecret } from '../protocol/text/found-secret.ts';
import { placeOf } from '../protocol/layout.ts';
import { parseMessage } from '../protocol/message.ts';
import { KnownSecrets } from './known.ts';
import { scan, type Hit } from './scan.ts';
import { isSuspicious } from './suspicious.ts';

export interface ScreenParts {
  /** The bytes of an attached file, which have its SHA-256; undefined when they are not here. */
  bytesOf: (blob: Blob) => Promise<Uint8Array | undefined>;
  /** Whether text is looked at, by the settings as they are now. */
  mode: () => Promise<'on' | 'off'>;
  /** Replaces the rules, in tests. */
  scan?: (text: string) => Promise<Hit[]>;
}

/** What may be known of an entry: its commits, and whether a person lets its secrets go. */
export interface Screened {
  commits: readonly Commit[];
  allowed?: true;
}

/** Contents whose outcome is remembered; then all are forgotten. */
const MOST_REMEMBERED = 5000;
/** The most findings of an entry that are told; one with more is held just the same. */
const MOST_FOUND = 50;

/**
 * Looks for secrets in what is about to leave this machine (work.md, "Nothing secret leaves"): each file
 * of an entry, its paths and subjects, and each attached file whole, whatever its type, as text. What is
 * inside compressed files is not seen.
 *
 * The outcome is remembered by content, never by the id of an entry: a run may write another text under
 * the same id.
 */
export class Screen {
  /** Values that must not leave, whatever they look like. */
  readonly known = new KnownSecrets();
  readonly #parts: ScreenParts;
  /** By the hash of a text. */
  readonly #known = new Map<string, readonly Hit[]>();
  /** By the SHA-256 of an attached file, of which whoever gives its bytes has made sure. */
  readonly #knownFiles = new Map<string, readonly Omit<FoundSecret, 'where'>[]>();

  constructor(parts: ScreenParts) {
    this.#parts = parts;
    this.known.whenChanged(() => {
      this.#known.clear();
      this.#knownFiles.clear();
    });
  }

  /**
   * @returns what looks like a secret; nothing for what a person lets go, and while it is switched off
   * @throws Error if the rules fail: then the entry counts as not looked at, and must not leave
   */
  async look({ commits, allowed }: Screened): Promise<FoundSecret[]> {
    if (allowed === true) return [];
    const found: FoundSecret[] = [];
    for (const commit of commits) {
      const { author, subject, files, blobs = [], clear = '' } = commit;
      const names = [author.name, author.email, subject, clear, ...files.map(({ path }) => path)];
      for (const { kind } of await this.#hits(names.join('\n')))
        found.push({ kind, where: 'a file', line: 0 });
      for (const file of files) found.push(...(await this.#inFile(file)));
      for (const [at, blob] of blobs.entries())
        found.push(
          ...(await this.#inBlob(blob, nameIn(files, blob) ?? `attached file ${String(at + 1)}`)),
        );
    }
    // Its settings are read again only where it matters.
    if (found.length === 0 || (await this.#parts.mode()) === 'off') return [];
    return found.slice(0, MOST_FOUND);
  }

  async #inFile({ path, content }: { path: string; content: string }): Promise<FoundSecret[]> {
    const hits = await this.#hits(content);
    if (hits.length === 0) return [];
    const isMessage = placeOf(path).kind === 'message';
    const where = isMessage ? 'the message' : isSuspicious(path) ? 'a file' : path;
    const begin = isMessage ? bodyBegin(content) : 0;
    return hits.map(({ kind, index }) => ({
      kind,
      where,
      line: index < begin ? 0 : lineOf(content, begin, index),
    }));
  }

  async #inBlob(blob: Blob, where: string): Promise<FoundSecret[]> {
    const known = this.#knownFiles.get(blob.sha256);
    if (known !== undefined) return known.map((one) => ({ ...one, where }));
    const bytes = await this.#parts.bytesOf(blob);
    // Bytes that are not here can't be pushed either.
    if (bytes === undefined) return [];
    const text = this.known.none ? suspiciousTextOf(bytes) : decoded(bytes);
    const hits = text === undefined ? [] : await this.#hits(text);
    const found = hits.map(({ kind, index }) => ({ kind, line: lineOf(text ?? '', 0, index) }));
    if (this.#knownFiles.size >= MOST_REMEMBERED) this.#knownFiles.clear();
    this.#knownFiles.set(blob.sha256, found);
    return found.map((one) => ({ ...one, where }));
  }

  async #hits(text: string): Promise<readonly Hit[]> {
    const own = this.known.in(text);
    if (!isSuspicious(text)) return own;
    const key = createHash('sha256').update(text).digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const hits = [...own, ...(await (this.#parts.scan ?? scan)(text))];
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    this.#known.set(key, hits);
    return hits;
  }
}

/**
 * Any bytes as text, if there may be a secret in them: in UTF-16 where they say so, else in UTF-8, with
 * what is none of it left as marks. To decode a picture takes several times as long as to search its
 * bytes, and all that makes a text suspicious is ASCII, which is the same in both.
 */
function suspiciousTextOf(bytes: Uint8Array): string | undefined {
  if (isWide(bytes)) return decoded(bytes);
  const plain = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return isSuspicious(plain) ? decoded(bytes) : undefined;
}

/** Whether bytes say that they are UTF-16. */
function isWide([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

function decoded(bytes: Uint8Array): string {
  const wide = bytes[0] === 0xff ? 'utf-16le' : 'utf-16be';
  return new TextDecoder(isWide(bytes) ? wide : 'utf-8').decode(bytes);
}

/** The name that a message gives an attached file, in quotes, unless it looks like a secret itself. */
function nameIn(files: Commit['files'], { sha256 }: Blob): string | undefined {
  for (const { path, content } of files) {
    if (placeOf(path).kind !== 'message') continue;
    const read = parseMessage(Buffer.from(content));
    const name = read.ok
      ? read.value.files?.find((file) => file.sha256 === sha256)?.name
      : undefined;
    if (name !== undefined && isFileName(name) && !isSuspicious(name)) return JSON.stringify(name);
  }
  return undefined;
}

/** Where the body of a message begins in its file. */
function bodyBegin(content: string): number {
  const read = parseMessage(Buffer.from(content));
  return read.ok ? content.length - read.value.body.length : 0;
}

function lineOf(text: string, from: number, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n', from); at !== -1 && at < index; at = text.indexOf('\n', at + 1))
    line++;
  return line;
}
