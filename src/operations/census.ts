import { CHANNELS, placeOf } from '../protocol/layout.ts';
import type { FileRef } from '../dispatcher/archive.ts';
import { isRecord, readJson, writeDurably } from '../state/files.ts';
import { tipOf, type Context } from './context.ts';

/** What a transport holds, counted at one commit. */
export interface Census {
  tip: string;
  /** Channel id → how many messages it holds and the path of its newest. */
  channels: Record<string, { messages: number; last: string }>;
  /** Path → why it cannot be read (protocol.md §2). */
  malformed: Record<string, string>;
}

/** Said of a file whose content is not in this clone; it is looked at again each time. */
const MISSING = 'its content is missing from this clone';

/** Files read at a time: enough to keep git busy, few enough to hold. */
const CHUNK = 500;

/**
 * Counts messages and malformed files. What was counted before is kept in the state directory
 * (it may be deleted at any time), so that only files added since are read.
 */
export async function takeCensus(context: Context): Promise<Census> {
  const tip = await tipOf(context);
  const before = await load(context.paths.census);
  if (before?.tip === tip && !Object.values(before.malformed).includes(MISSING)) return before;
  const usable = before !== undefined && (await context.transport.isAncestor(before.tip, tip));
  const census: Census = usable ? { ...before, tip } : { tip, channels: {}, malformed: {} };
  if (usable) await update(context, census, before.tip);
  else
    for await (const files of context.transport.walk(tip, CHANNELS))
      await add(context, census, files);
  await writeDurably(context.paths.census, JSON.stringify(census)).catch(() => undefined);
  return census;
}

async function update(context: Context, census: Census, from: string): Promise<void> {
  const changes = (await context.transport.changes(from, census.tip)).filter(({ path }) =>
    path.startsWith(`${CHANNELS}/`),
  );
  const missing = Object.keys(census.malformed).filter(
    (path) => census.malformed[path] === MISSING && !changes.some((change) => change.path === path),
  );
  for (const path of missing) Reflect.deleteProperty(census.malformed, path);
  await add(
    context,
    census,
    missing.map((path) => ({ path, oid: `${census.tip}:${path}`, mode: '100644' })),
  );
  for (const { path, status } of changes) {
    if (status === 'A') continue;
    const malformed = Object.hasOwn(census.malformed, path);
    Reflect.deleteProperty(census.malformed, path);
    const place = placeOf(path);
    if (place.kind === 'message' && !malformed) {
      const counted = census.channels[place.channel];
      if (counted !== undefined) counted.messages--;
    }
  }
  await add(
    context,
    census,
    changes.filter(({ status }) => status !== 'D'),
  );
}

async function add(context: Context, census: Census, files: readonly FileRef[]): Promise<void> {
  for (let at = 0; at < files.length; at += CHUNK) {
    await Promise.all(files.slice(at, at + CHUNK).map((file) => count(context, census, file)));
  }
}

async function count({ archive }: Context, census: Census, file: FileRef): Promise<void> {
  const place = placeOf(file.path);
  if (place.kind === 'stray') census.malformed[file.path] = place.reason;
  if (place.kind !== 'message' && place.kind !== 'channel') return;
  const counted = (census.channels[place.channel] ??= { messages: 0, last: '' });
  if (place.kind === 'channel') return;
  const message = await archive.parse(file);
  if (message === undefined) census.malformed[file.path] = MISSING;
  else if (!message.ok) census.malformed[file.path] = message.problems.join('; ');
  else {
    counted.messages++;
    if (place.relPath > counted.last) counted.last = place.relPath;
  }
}

async function load(path: string): Promise<Census | undefined> {
  const read = await readJson(path);
  if (!read || !isRecord(read.value)) return undefined;
  const { tip, channels, malformed } = read.value;
  const counted =
    isRecord(channels) &&
    Object.values(channels).every(
      (one) =>
        isRecord(one) && typeof one['messages'] === 'number' && typeof one['last'] === 'string',
    );
  const whole = typeof tip === 'string' && /^[0-9a-f]{40,64}$/.test(tip) && counted;
  return whole && isRecord(malformed) ? (read.value as unknown as Census) : undefined;
}
