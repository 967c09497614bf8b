import { CHANNELS, channelFile, MEMORIES, placeOf } from '../../protocol/layout.ts';
import { byChannel } from '../../protocol/reference.ts';
import { seenFrom } from '../../protocol/seen-from.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Commit } from '../../protocol/commit.ts';
import type { Ancestor, Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';

/** What a rewritten history has removed. */
export interface Vanished {
  /** What this machine wrote and has to publish again, oldest first. */
  again: Omit<OutboxEntry, 'id'>[];
  /** How many more messages are gone: those of other machines, and those removed on purpose. */
  gone: number;
  /** Paths of all messages that are now missing. */
  missing: string[];
}

/** What was written under one name. */
interface Written {
  entries: Vanished['again'];
  /** By path, how many times it had been published again. */
  written: Map<string, number>;
}

/**
 * The most commits that are examined: a loss as large as a month-old backup is for a person to
 * judge.
 */
const MANY = 5000;
/** The most bytes that are held to be published again. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Compares the bus with what it contained before its history was rewritten.
 *
 * A branch that was set back (because a backup was restored, or an older clone was pushed by force)
 * has lost everything after a point: nothing that this machine wrote after it is there any more,
 * and all of that is published again (protocol.md §5). A history from which somebody removed a
 * message on purpose still has the rest and is left alone: what vanished is only counted. Messages
 * that came back since, through us or others, do not count as the rest ({@link othersOf}). If this
 * machine saw the branch at one of the tip's new commits before it saw it at `from`, the branch was
 * certainly set back; where two histories have nothing in common, this is the only sign of it.
 *
 * @param names the author names of commits made on this machine: its alias and its hostname
 */
export async function vanished(
  { transport, reader }: { transport: Transport; reader: MessageReader },
  names: readonly string[],
  from: string,
  tip: string,
): Promise<Vanished> {
  const isKnown = (await transport.objects.read(`${from}^{commit}`)) !== undefined;
  if (!isKnown) return { again: [], gone: 0, missing: [] };
  const stood = await missingFiles(transport, from, tip);
  const missing = [...stood.keys()].filter((path) => isMessage(path));
  const gone = missing.length;
  const nothing = { again: [], gone, missing };
  if (stood.size === 0) return nothing;
  const base = await transport.mergeBase(from, tip);
  const since = await transport.commitsSince(base ?? from, tip, MANY);
  const isBack = await wasThere(transport, since, from);
  if (base === undefined && !isBack) return nothing;
  const lost = new Map<string, Written>();
  let bytes = 0;
  for (const commit of await transport.commitsSince(base ?? tip, from, MANY)) {
    const name = names.find((one) => commit.author.email.endsWith(`@${one}.crosstalk.local`));
    if (name === undefined || commit.parent === '') continue;
    const ours: Written = lost.get(name) ?? { entries: [], written: new Map() };
    lost.set(name, ours);
    const paths = await pathsOf(transport, commit.parent, commit.oid);
    for (const path of paths) ours.written.set(path, timesAgain(commit.subject));
    const files = await filesAt(transport, stood, paths);
    bytes += files.reduce((sum, { content }) => sum + content.length, 0);
    if (bytes > MAX_BYTES) return nothing;
    if (files.length > 0) ours.entries.push(await entryOf(reader, commit, files));
  }
  const again: Vanished['again'] = [];
  // Examine each name separately: another machine with our hostname may have restored what it
  // shares.
  for (const { entries, written } of lost.values()) {
    const rest = isBack ? new Set<string>() : await transport.standing(tip, [...written.keys()]);
    if (rest.size > 0)
      for (const path of await othersOf(transport, since, written)) rest.delete(path);
    if (rest.size > 0) continue;
    again.push(...(base === undefined ? await atHome(transport, tip, entries) : entries));
  }
  const back = again.flatMap(({ commits }) => commits.flatMap(({ files }) => files));
  const messages = new Set(back.map(({ path }) => path).filter((path) => isMessage(path)));
  return { again, gone: gone - messages.size, missing };
}

/** Whether this machine saw the bus at one of these commits before it saw it at `from`. */
async function wasThere(
  transport: Transport,
  commits: readonly Ancestor[],
  from: string,
): Promise<boolean> {
  const before = await transport.stoodBefore(from);
  return commits.some(({ oid }) => before.has(oid));
}

/**
 * What commits added that is not the rest of a lost history: what was pushed from here since,
 * because it was still in the outbox; what was published again since, also by a machine that shares
 * a name with this one; and what the lost history had published again, if these commits are older
 * than that.
 *
 * @param written by path, how many times the lost history had published it again
 */
async function othersOf(
  transport: Transport,
  commits: readonly Ancestor[],
  written: ReadonlyMap<string, number>,
): Promise<string[]> {
  const known = new Set(commits.map(({ oid }) => oid));
  const paths: string[] = [];
  for (const { from, to } of await transport.pushes())
    if (known.has(to) && /[^0]/.test(from)) paths.push(...(await pathsOf(transport, from, to)));
  const mayBeOlder = [...written.values()].some((times) => times > 0);
  for (const { oid, parent, subject } of commits) {
    const times = timesAgain(subject);
    if (parent === '' || (times === 0 && !mayBeOlder)) continue;
    for (const path of await pathsOf(transport, parent, oid))
      if (times !== (written.get(path) ?? times)) paths.push(path);
  }
  return paths;
}

/** The end of the subject of a commit that published messages again. */
const AGAIN = /, again(?: (\d{1,9}))?$/;

function timesAgain(subject: string): number {
  const [found, times = '1'] = AGAIN.exec(subject) ?? [];
  return found === undefined ? 0 : Number(times);
}

/** The subject of a commit, changed to say that it was published once more. */
function onceMore(subject: string): string {
  const times = timesAgain(subject) + 1;
  return `${subject.replace(AGAIN, '')}, again${times > 1 ? ` ${String(times)}` : ''}`;
}

/** Selects what another history contained for channels that exist here, or that come back with it. */
async function atHome(
  transport: Transport,
  tip: string,
  entries: Vanished['again'],
): Promise<Vanished['again']> {
  const channelsOf = ({ commits }: Pick<OutboxEntry, 'commits'>): string[] =>
    commits.flatMap(({ files }) =>
      files.flatMap(({ path }) => {
        const place = placeOf(path);
        return place.kind === 'message' ? [channelFile(place.channel)] : [];
      }),
    );
  const there = await transport.standing(tip, entries.flatMap(channelsOf));
  for (const { commits } of entries)
    for (const { files } of commits) for (const { path } of files) there.add(path);
  return entries.filter((entry) => channelsOf(entry).every((path) => there.has(path)));
}

function isMessage(path: string): boolean {
  return placeOf(path).kind === 'message';
}

/**
 * An answer that is back settles again what it settled before. A delegated task settles nothing:
 * the run that wrote it may have been ended before its answer.
 */
async function entryOf(
  reader: MessageReader,
  { oid, author, subject, at }: Ancestor,
  files: Commit['files'],
): Promise<Omit<OutboxEntry, 'id'>> {
  const commits = [{ at: at.toISOString(), author, subject: onceMore(subject), files }];
  const [place] = files.length === 1 ? files.map(({ path }) => placeOf(path)) : [];
  if (place?.kind !== 'message') return { commits };
  const { channel, relPath } = place;
  const message = await reader.message(oid, channel, relPath);
  if (message?.host === undefined || message.re.length === 0) return { commits };
  const { re, cause } = seenFrom(channel, channel, { relPath, message }).message;
  const named = byChannel(channel, [...new Set([...re, ...cause])]);
  const messages = named.get(channel) ?? [];
  named.delete(channel);
  const elsewhere = [...named].map(([place, paths]) => ({ channel: place, messages: paths }));
  const also = elsewhere.length > 0 ? { elsewhere } : {};
  return { commits, delivery: { actor: message.from, channel, messages, ...also } };
}

/** The files of channels and memories that are now missing: by path, the names of their contents. */
async function missingFiles(
  transport: Transport,
  from: string,
  tip: string,
): Promise<Map<string, string>> {
  const missing = new Map<string, string>();
  for await (const changes of transport.changes(tip, from, [CHANNELS, MEMORIES]))
    for (const { path, oid, status } of changes) if (status === 'A') missing.set(path, oid);
  return missing;
}

/** What a commit added to channels and memories. */
async function pathsOf(transport: Transport, parent: string, commit: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const changes of transport.changes(parent, commit, [CHANNELS, MEMORIES]))
    for (const { path, status } of changes) if (status === 'A') paths.push(path);
  return paths;
}

/** The last version of files: what was removed or changed after it was written stays so. */
async function filesAt(
  transport: Transport,
  stood: ReadonlyMap<string, string>,
  paths: readonly string[],
): Promise<Commit['files']> {
  const files: Commit['files'] = [];
  for (const path of paths) {
    const oid = stood.get(path);
    const content = oid === undefined ? undefined : (await transport.objects.read(oid))?.content;
    if (content !== undefined) files.push({ path, content: content.toString('utf8') });
  }
  return files;
}
