import { CHANNELS, channelFile, MEMORIES, placeOf } from '../../protocol/layout.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Ancestor, Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import { lostWritings, pathsOf, timesAgain } from './lost-writings.ts';

/** What a rewritten history has removed. */
export interface Vanished {
  /** What this machine wrote and has to publish again, oldest first. */
  again: Omit<OutboxEntry, 'id'>[];
  /** How many more messages are gone: those of other machines, and those removed on purpose. */
  gone: number;
  /** Paths of all messages that are now missing. */
  missing: string[];
  /** Paths of what was taken out on purpose: one by one, or all that is missing. */
  takenOut: string[];
  /** The newest commit of those that were too many to be looked at. */
  unexamined?: string;
}

/** The most commits that are examined, the newest: what was lost before them is for a person to judge. */
const MANY = 5000;

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
 * @param without paths that had been taken out on purpose before, which stay out
 */
export async function vanished(
  { transport, reader }: { transport: Transport; reader: MessageReader },
  names: readonly string[],
  from: string,
  tip: string,
  without: readonly string[] = [],
): Promise<Vanished> {
  const isKnown = (await transport.objects.read(`${from}^{commit}`)) !== undefined;
  if (!isKnown) return { again: [], gone: 0, missing: [], takenOut: [] };
  const stood = await missingFiles(transport, from, tip);
  for (const path of without) stood.delete(path);
  const missing = [...stood.keys()].filter((path) => isMessage(path));
  const gone = missing.length;
  const nothing = { again: [], gone, missing, takenOut: [] };
  if (stood.size === 0) return nothing;
  const base = await transport.mergeBase(from, tip);
  const since = await transport.commitsSince(base ?? from, tip, MANY);
  const isBack = await wasThere(transport, since, from);
  if (base === undefined && !isBack) return nothing;
  const removed = await removedSince(transport, base ?? from, tip);
  const stayOut = removed.filter((path) => stood.delete(path));
  const { lost, unexamined } = await lostWritings({ transport, reader, most: MANY }, names, {
    from,
    base,
    tip,
    stood,
  });
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
  const isEdited = again.length === 0 && base !== undefined && unexamined !== from;
  const takenOut = [...stayOut, ...(isEdited ? stood.keys() : [])];
  const left = gone - messages.size;
  const more = unexamined !== undefined && !isEdited ? { unexamined } : {};
  return { again, gone: left, missing, takenOut, ...more };
}

/** What commits since another one have removed one by one: it was not lost, and stays out. */
async function removedSince(transport: Transport, since: string, tip: string): Promise<string[]> {
  const form = ['--format=', '--name-only', '--diff-filter=D', '--no-renames', '-z'];
  const range = [`${since}..${tip}`, '--', CHANNELS, MEMORIES];
  return (await transport.git(['log', ...form, ...range])).split('\0');
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
