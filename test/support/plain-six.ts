import { parse } from 'yaml';
import { git, readBlobs } from './git.ts';

/** A message as a reader knows it that has only the rules of plain 6.0 (protocol.md §2, §3). */
export interface PlainMessage {
  channel: string;
  relPath: string;
  from: string;
  to: string[];
  re: string[];
  body: string;
  /** The fields of its header that 6.0 does not know. */
  unknown: string[];
}

const PATH = /^data\/channels\/([0-9a-f-]{36})\/(\d{4}\/\d{2}\/\d{2}\/\d{9}Z-[0-9a-f]{8,}\.md)$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const KNOWN = ['from', 'to', 'type', 'timestamp', 're', 'tier'];

/**
 * Every message on a branch, read by the rules of plain 6.0, and with nothing of Crosstalk's own
 * code. @throws for a file below the channels that such a reader would call malformed
 */
export function plainMessages(hub: string, branch = 'main'): PlainMessage[] {
  const listed = git(hub, 'ls-tree', '-r', '-z', branch, 'data/channels/').split('\0');
  return listed.flatMap((line) => {
    const [, mode = '', oid = '', path = ''] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? [];
    const [, channel = '', relPath = ''] = PATH.exec(path) ?? [];
    if (relPath === '') return [];
    if (mode !== '100644') throw new Error(`${path} has the mode ${mode}`);
    return [{ channel, relPath, ...read(path, readBlobs(hub, [oid])[0] ?? Buffer.alloc(0)) }];
  });
}

function read(path: string, bytes: Buffer): Omit<PlainMessage, 'channel' | 'relPath'> {
  const wrong = (what: string): Error => new Error(`${path} is malformed for plain 6.0: ${what}`);
  if (bytes.length > 1024 * 1024) throw wrong('its size');
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  const [, header, body] = /^---\n([^]*?)^---\n\n?([^]*)$/m.exec(text) ?? [];
  if (header === undefined || body === undefined) throw wrong('no frontmatter');
  const fields = parse(header, { schema: 'failsafe' }) as Record<string, unknown>;
  const list = (value: unknown): string[] =>
    value === undefined ? [] : Array.isArray(value) ? (value as string[]) : [value as string];
  const { from, type, timestamp } = fields;
  const to = list(fields['to']);
  const re = list(fields['re']);
  if (typeof from !== 'string' || !NAME.test(from)) throw wrong('from');
  if (to.length === 0 || !to.every((one) => one.split('@').every((name) => NAME.test(name))))
    throw wrong('to');
  if (type !== 'text') throw wrong('type');
  if (typeof timestamp !== 'string' || !UTC.test(timestamp)) throw wrong('timestamp');
  if (!re.every((one) => PATH.test(`data/channels/${'0'.repeat(36)}/${one}`))) throw wrong('re');
  const unknown = Object.keys(fields).filter((key) => !KNOWN.includes(key));
  return { from, to, re, body, unknown };
}

/** Whom a message wakes by the one rule of plain 6.0, of these actors and their hosts. */
export function plainlyWoken(
  { from, to, re, channel }: PlainMessage,
  actors: readonly { name: string; host: string }[],
  all: readonly PlainMessage[],
): string[] {
  const answered = all.filter((one) => one.channel === channel && re.includes(one.relPath));
  return actors
    .filter(({ name, host }) =>
      to.some((one) => one === 'all' || one === name || one === `${name}@${host}`),
    )
    .filter(({ name }) => name !== from)
    .filter(({ name }) => re.length === 0 || answered.some((one) => one.from === name))
    .map(({ name, host }) => `${name}@${host}`);
}

/** A note as a plain 6.0 reader knows it. */
export interface PlainMemory {
  file: string;
  subject: string;
  supersedes: string | undefined;
  body: string;
}

const NOTE = /^data\/memories\/(\d{8}T\d{9}Z-[0-9a-f]{8,}\.md)$/;

/** Every note on a branch, by the rules of plain 6.0. @throws for one that such a reader cannot read */
export function plainMemories(hub: string, branch = 'main'): PlainMemory[] {
  const listed = git(hub, 'ls-tree', '-r', '-z', branch, 'data/memories/').split('\0');
  return listed.flatMap((line) => {
    const [, oid = '', path = ''] = /^\d+ \w+ (\w+)\t(.*)$/s.exec(line) ?? [];
    const [, file = ''] = NOTE.exec(path) ?? [];
    if (file === '') return [];
    const text = readBlobs(hub, [oid])[0]?.toString('utf8') ?? '';
    const [, header = '', body = ''] = /^---\n([^]*?)^---\n\n?([^]*)$/m.exec(text) ?? [];
    const fields = parse(header, { schema: 'failsafe' }) as Record<string, unknown>;
    const { from, timestamp, subject, scope, supersedes } = fields;
    const isRead =
      [from, timestamp, subject].every((one) => typeof one === 'string') &&
      typeof scope === 'string' &&
      /^(?:global|[0-9a-f-]{36})$/.test(scope) &&
      (supersedes === undefined || typeof supersedes === 'string');
    if (!isRead) throw new Error(`${path} is malformed for plain 6.0: ${header}`);
    return [{ file, subject: subject as string, supersedes, body }];
  });
}
