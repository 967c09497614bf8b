import { rm, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import {
  attachedPath,
  CHANNELS,
  placeOf,
  messageFile,
  byChannel,
  type MessageRef,
  messageKey,
} from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Failure, TreeEntry } from '../../transport/transport.ts';
import { refreshed, tipOf, type Context } from '../context.ts';
import { permission } from '../publishing.ts';
import { readHosts } from '../../bus/host.ts';
import { splitAt, type Beyond, type ServedActor, type Split } from '../../protocol/epoch.ts';
import type { Located } from '../../protocol/message.ts';
import { seenFrom } from '../../protocol/causality.ts';
import { claimFolders } from './claim-folders.ts';
import { NamedFiles } from './named-files.ts';

export interface ArchiveInput {
  /** The first day that stays, as `YYYY-MM-DD`. */
  before: string;
  /** Path of the bundle to write. */
  bundle: string | undefined;
  /** Whether messages that wait for an answer are archived too. */
  withWaiting: boolean;
  /** Whether to count only. */
  dryRun: boolean;
}

export interface Archived extends ArchivePlan {
  before: string;
  /** The bundle with the previous history; absent when nothing was done. */
  bundle?: string;
  sha256?: string;
  /** The tips of the bus before and after. */
  from?: string;
  tip?: string;
}

/** Maximum number of attempts: the plan is repeated when the bus has changed in the meantime. */
const MAX_TRIES = 5;

/**
 * Moves old conversations from the bus into a bundle that contains the whole history so far, and starts a
 * new history without them. The bundle is written and verified before the bus is changed, and the bus is
 * changed only if its tip is still the end of the bundle.
 *
 * @throws CrosstalkError `usage` for an invalid day or file, `refused` when the remote refuses
 */
export async function archive(context: Context, input: ArchiveInput): Promise<Archived> {
  const { transport } = context;
  const before = dayFrom(input.before, context.now());
  const file = input.dryRun ? undefined : await freshFile(context, input.bundle);
  for (let tries = 1; ; tries++) {
    await askRemote(context);
    const tip = await tipOf(context);
    const { plan, removed } = await planAt(context, tip, before, input.withWaiting);
    const result = { ...plan, before: input.before };
    if (file === undefined || removed.length === 0) return result;
    const sha256 = await transport.epochs.bundle(tip, file);
    const text = `Archive ${String(plan.archived)} messages before ${input.before}`;
    await permission(context.budget)('push');
    const moved = await transport.epochs
      .begin(tip, removed, text, sha256)
      .catch(async (error: unknown) => {
        // If the bus has taken the new history, the bundle is the only copy of the removed messages.
        const isUnsure = error instanceof CrosstalkError && error.data['kind'] === 'no_answer';
        if (!isUnsure) await rm(file, { force: true });
        throw error;
      });
    if (moved.ok) {
      await context.checkout.follow();
      return { ...result, bundle: file, sha256, from: tip, tip: moved.tip };
    }
    await rm(file, { force: true });
    if (tries === MAX_TRIES || !isRace(moved.failure)) throw refusedBy(context, moved.failure);
  }
}

export interface Restored {
  archived: string;
  restored: number;
  /** The attached files that came back with them. */
  files: number;
  tip: string;
}

/**
 * Puts the messages of an archive back onto the bus, and joins its history to the current one.
 * Hosts do not deliver them again.
 *
 * @throws CrosstalkError `usage` for a file that is not an archive, `refused` when the remote
 *   refuses
 */
export async function restore(context: Context, bundle: string): Promise<Restored> {
  const { transport } = context;
  const file = resolve(context.cwd, bundle);
  if (!(await isFile(file))) throw new CrosstalkError('usage', `no bundle at ${file}`);
  const archived = await transport.epochs.open(file);
  for (let tries = 1; ; tries++) {
    await askRemote(context);
    const tip = await tipOf(context);
    const there = new Set<string>();
    for await (const some of transport.walk(tip, CHANNELS))
      for (const { path } of some) there.add(path);
    const files: TreeEntry[] = [];
    for await (const some of transport.walk(archived, CHANNELS))
      for (const file of some) if (isOfBus(file) && !there.has(file.path)) files.push(file);
    if (files.length === 0) return { archived, restored: 0, files: 0, tip };
    const attached = await attachedTo(context, files, archived, tip);
    const claims = await claimFolders(
      context,
      files.map(({ path }) => path),
      archived,
      tip,
    );
    await permission(context.budget)('push');
    const all = [...files, ...attached, ...claims];
    const moved = await transport.epochs.restore(tip, archived, all);
    if (moved.ok) {
      await context.checkout.follow();
      const counts = { restored: files.length, files: attached.length };
      return { archived, ...counts, tip: moved.tip };
    }
    if (tries === MAX_TRIES || !isRace(moved.failure)) throw refusedBy(context, moved.failure);
  }
}

/**
 * Whether a file is a message or a channel. Any other file could have the name of a folder that
 * contains messages by now, and would replace it.
 */
function isOfBus({ path, type }: TreeEntry): boolean {
  return type === 'blob' && /^(message|channel)$/.test(placeOf(path).kind);
}

/** Returns the files that messages of an archive name and the bus lacks, as they were archived. */
async function attachedTo(
  { transport, reader }: Context,
  messages: readonly TreeEntry[],
  archived: string,
  tip: string,
): Promise<TreeEntry[]> {
  const paths = new Set<string>();
  for (const message of messages) {
    const parsed = await reader.parse(message);
    const files = parsed?.ok === true ? (parsed.value.files ?? []) : [];
    for (const { sha256 } of files) paths.add(attachedPath(sha256));
  }
  const there = await transport.entriesAt(tip, [...paths]);
  const found = await transport.entriesAt(archived, [...paths]);
  return [...found.values()].filter(({ path, type }) => type === 'blob' && !there.has(path));
}

async function askRemote(context: Context): Promise<void> {
  const asked = await refreshed(context);
  if (!asked.ok) {
    throw new CrosstalkError(
      'refused',
      `the remote could not be asked: ${asked.failure.reason}; nothing was changed`,
    );
  }
}

function isRace({ kind }: Failure): boolean {
  return kind === 'behind' || kind === 'contention';
}

function refusedBy({ transport }: Context, failure: Failure): CrosstalkError {
  return new CrosstalkError(
    'refused',
    `${transport.origin ?? transport.dir} did not take the new history: ${failure.reason}; nothing was changed. A branch that is protected must allow this one push to replace it`,
  );
}

/** Converts `2026-08-01` to `2026/08/01`. */
function dayFrom(text: string, now: Date): string {
  const day = new Date(`${text}T00:00:00Z`);
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime());
  if (!isDay || day > now) {
    throw new CrosstalkError(
      'usage',
      `--before ${shown(text)} is no day in the past, such as ${new Date(now.getTime() - 90 * 86_400_000).toISOString().slice(0, 10)}`,
    );
  }
  return text.replaceAll('-', '/');
}

/** Returns the path of the bundle: a new file in an existing folder outside the transport. */
async function freshFile(context: Context, given: string | undefined): Promise<string> {
  const refuse = (problem: string): never => {
    throw new CrosstalkError('usage', problem);
  };
  if (given === undefined)
    return refuse('an archive needs a place: give --bundle <file>, or --dry-run to only count');
  const file = resolve(context.cwd, given);
  if (`${file}${sep}`.startsWith(`${context.transport.dir}${sep}`))
    return refuse(`--bundle ${file} is inside the transport; give a path outside of it`);
  if (await isFile(file)) return refuse(`--bundle ${file} is there already; give another name`);
  const folder = await stat(dirname(file)).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    return refuse(`--bundle ${file}: there is no folder ${dirname(file)}`);
  return file;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The number of files read at a time. */
const CHUNK = 500;

/** A plan of the messages of a bus that are archived and of those that stay. */
interface ArchivePlan {
  channels: { id: string; name: string; archived: number; waiting: number; kept: number }[];
  archived: number;
  /** The number of messages before that day that wait for an answer. */
  waiting: number;
  kept: number;
  /** The attached files that leave with them, because no message that stays names them. */
  files: number;
}

/** A message, with names relative to its channel. */
interface Standing {
  channel: string;
  located: Located;
}

/** A link from a message of one channel to a message in another channel that led to it. */
interface Crossing {
  from: Standing;
  to: MessageRef;
}

/**
 * Plans which messages are archived and which stay, channel by channel: memory holds the headers of one
 * channel.
 */
async function planAt(
  context: Context,
  tip: string,
  before: string,
  withWaiting: boolean,
): Promise<{ plan: ArchivePlan; removed: string[] }> {
  const hosts = await readHosts(context.transport, tip);
  const served: ServedActor[] = hosts.flatMap(({ result }) =>
    result.ok
      ? [...result.value.actors.keys()].map((actor) => ({ host: result.value.alias, actor }))
      : [],
  );
  const removed: string[] = [];
  const all = await context.reader.channels(tip);
  const splits = new Map<string, Split>();
  const crossings: Crossing[] = [];
  const named = new NamedFiles();
  for (const { id } of all) {
    const messages = await headersOf(context, tip, id);
    named.note(id, messages);
    splits.set(id, splitAt(messages, before, served, withWaiting));
    crossings.push(...messages.flatMap((located) => crossingsOf(id, located)));
  }
  const others = await aroundCrossings(crossings, (id) => headersOf(context, tip, id));
  await followCrossings(crossings, async (id, staying) => {
    const messages = await headersOf(context, tip, id);
    const seen = others.flatMap(({ channel, located }) =>
      channel === id ? [] : [seenFrom(id, channel, located)],
    );
    const linked = messages.filter(({ message }) => message.origin !== undefined);
    const lookup = await context.reader.chain(tip, id, linked);
    const beyond: Beyond = { others: seen, lookup, staying };
    const split = splitAt(messages, before, served, withWaiting, beyond);
    splits.set(id, split);
    const ended = new Set(split.ended);
    return new Set(messages.flatMap(({ relPath }) => (ended.has(relPath) ? [] : [relPath])));
  });
  const channels = all.map(({ id, name }) => {
    const { ended = [], waiting = [], kept = 0 } = splits.get(id) ?? {};
    for (const relPath of ended) removed.push(messageFile(id, relPath));
    return { id, name, archived: ended.length, waiting: waiting.length, kept };
  });
  const files = await transportFiles(context, tip, named.onlyIn(splits));
  const claims = await claimFolders(context, removed, tip);
  removed.push(...files, ...claims.map(({ path }) => path));
  const sum = (part: 'archived' | 'waiting' | 'kept'): number =>
    channels.reduce((total, channel) => total + channel[part], 0);
  const counts = { archived: sum('archived'), waiting: sum('waiting'), kept: sum('kept') };
  return { plan: { channels, ...counts, files: files.length }, removed };
}

/** Returns those of some attached files that are on the bus, by their paths. */
async function transportFiles(
  { transport }: Context,
  tip: string,
  sha256s: readonly string[],
): Promise<string[]> {
  return [...(await transport.entriesAt(tip, sha256s.map(attachedPath))).keys()];
}

function crossingsOf(channel: string, located: Located): Crossing[] {
  if (located.message.origin === undefined) return [];
  return [...byChannel(channel, located.message.cause)].flatMap(([other, relPaths]) =>
    other === channel
      ? []
      : relPaths.map((relPath) => ({
          from: { channel, located },
          to: { channel: other, relPath },
        })),
  );
}

/** Returns the messages at both ends of cross-channel links, and the answers to those they lead to. */
async function aroundCrossings(
  crossings: readonly Crossing[],
  read: (channel: string) => Promise<Located[]>,
): Promise<Standing[]> {
  const ends = new Map<string, Set<string>>();
  for (const { to } of crossings)
    ends.set(to.channel, (ends.get(to.channel) ?? new Set()).add(to.relPath));
  const found = new Map<string, Standing>();
  const note = (channel: string, located: Located): void => {
    found.set(messageKey({ channel, relPath: located.relPath }), { channel, located });
  };
  for (const { from } of crossings) note(from.channel, from.located);
  for (const [channel, relPaths] of ends)
    for (const located of await read(channel))
      if ([located.relPath, ...located.message.re].some((one) => relPaths.has(one)))
        note(channel, located);
  return [...found.values()];
}

/**
 * Keeps conversations that cross channels together: while one end of a cross-channel link stays, so does the other. A
 * conversation that leads from one channel into another is therefore archived as a whole as well. Only channels with
 * cross-channel links are divided again.
 *
 * @param divide divides a channel, and returns which of its messages stay
 */
async function followCrossings(
  crossings: readonly Crossing[],
  divide: (channel: string, staying: string[]) => Promise<ReadonlySet<string>>,
): Promise<void> {
  const staying = new Map<string, Set<string>>();
  for (const { from, to } of crossings)
    for (const { channel } of [from, to]) staying.set(channel, new Set());
  const keep = (channel: string, relPath: string): boolean => {
    const known = staying.get(channel);
    if (known === undefined || known.has(relPath)) return false;
    known.add(relPath);
    return true;
  };
  const waiting = new Set(staying.keys());
  for (const id of waiting) {
    waiting.delete(id);
    const stays = await divide(id, [...(staying.get(id) ?? [])]);
    for (const { from, to } of crossings) {
      const { relPath } = from.located;
      if (from.channel === id && stays.has(relPath) && keep(to.channel, to.relPath))
        waiting.add(to.channel);
      if (to.channel === id && stays.has(to.relPath) && keep(from.channel, relPath))
        waiting.add(from.channel);
    }
  }
}

/**
 * Reads the messages of a channel in path order, with names relative to it and without bodies. Files that
 * are not messages stay where they are.
 */
async function headersOf(context: Context, tip: string, channel: string): Promise<Located[]> {
  const found: Located[] = [];
  for await (const files of context.transport.walk(tip, `${CHANNELS}/${channel}`)) {
    await context.transport.prefetch(files.map(({ oid }) => oid));
    for (let at = 0; at < files.length; at += CHUNK) {
      const read = files.slice(at, at + CHUNK).map(async (file) => {
        const place = placeOf(file.path);
        const parsed = place.kind === 'message' ? await context.reader.parse(file) : undefined;
        if (place.kind !== 'message' || parsed?.ok !== true) return [];
        const header = { relPath: place.relPath, message: { ...parsed.value, body: '' } };
        return [seenFrom(channel, channel, header)];
      });
      found.push(...(await Promise.all(read)).flat());
    }
  }
  return found;
}
