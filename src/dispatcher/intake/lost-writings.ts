import { CHANNELS, MEMORIES, placeOf } from '../../protocol/layout.ts';
import { byChannel } from '../../protocol/reference.ts';
import { seenFrom } from '../../protocol/seen-from.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Commit } from '../../protocol/commit.ts';
import type { Ancestor, Transport } from '../../transport/transport.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import { withLostFiles } from './lost-files.ts';

/** What was written under one name. */
export interface Written {
  /** What of it is missing now, as it is published again; oldest first. */
  entries: Omit<OutboxEntry, 'id'>[];
  /** By path, how many times it had been published again. */
  written: Map<string, number>;
}

/** A history that was replaced. */
interface Replaced {
  /** Its last commit. */
  from: string;
  /** What it has in common with the history that replaced it. */
  base: string | undefined;
  /** The last commit of the history that replaced it. */
  tip: string;
  /** What stood in it and is missing now: by path, the names of the contents. */
  stood: ReadonlyMap<string, string>;
}

/** What was written in one commit. */
interface Writing {
  name: string;
  commit: Ancestor;
  paths: string[];
}

interface Parts {
  transport: Transport;
  reader: MessageReader;
  /** The most commits that are examined. */
  most: number;
}

/** The most bytes that are held to be published again. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Collects what this machine had written in a history that was replaced, by the names of its authors.
 *
 * Somebody may have put several commits into one of their own, and may be its only author: what this
 * machine has written itself is then known from the histories that it saw before.
 *
 * @param names the author names of commits made on this machine
 * @returns what was found, and the last commit that was not looked at, of a history too long or too large
 */
export async function lostWritings(
  { transport, reader, most }: Parts,
  names: readonly string[],
  { from, base, tip, stood }: Replaced,
): Promise<{ lost: Map<string, Written>; unexamined?: string }> {
  const nameOf = ({ author, parent }: Ancestor): string | undefined =>
    parent === ''
      ? undefined
      : names.find((one) => author.email.endsWith(`@${one}.crosstalk.local`));
  const writings: Writing[] = [];
  // What others have put on top does not keep ours from being looked at.
  const authors = names.map((name) => `@${name}.crosstalk.local`);
  const commits = await transport.commitsSince(base ?? tip, from, most + 1, authors);
  const unexamined = commits.length > most ? commits.shift()?.oid : undefined;
  for (const commit of commits) {
    const name = nameOf(commit);
    if (name === undefined) continue;
    const paths = await pathsOf(transport, commit.parent, commit.oid);
    writings.push({ name, commit, paths });
  }
  const hidden = new Set(await pathsOf(transport, base ?? tip, from));
  for (const { paths } of writings) for (const path of paths) hidden.delete(path);
  if (hidden.size > 0) {
    const earlier = await transport.commitsLost([from, tip], most);
    writings.unshift(...(await writingsOf(transport, nameOf, earlier, hidden)));
  }
  const lost = new Map<string, Written>();
  let bytes = 0;
  for (const { name, commit, paths } of writings) {
    const ours: Written = lost.get(name) ?? { entries: [], written: new Map() };
    lost.set(name, ours);
    for (const path of paths) ours.written.set(path, timesAgain(commit.subject));
    const files = await filesAt(transport, stood, paths);
    bytes += files.reduce((sum, { content }) => sum + content.length, 0);
    if (bytes > MAX_BYTES) return { lost: new Map(), unexamined: from };
    if (files.length === 0) continue;
    const entry = await entryOf(reader, commit, files);
    ours.entries.push(await withLostFiles(transport, from, entry));
  }
  return { lost, ...(unexamined && { unexamined }) };
}

/** Finds who wrote files here, each in the commit that published it last. */
async function writingsOf(
  transport: Transport,
  nameOf: (commit: Ancestor) => string | undefined,
  commits: readonly Ancestor[],
  files: ReadonlySet<string>,
): Promise<Writing[]> {
  const last = new Map<string, Omit<Writing, 'paths'>>();
  for (const commit of commits) {
    const name = nameOf(commit);
    if (name === undefined) continue;
    for (const path of await pathsOf(transport, commit.parent, commit.oid)) {
      const known = last.get(path);
      const isLater =
        known === undefined || timesAgain(commit.subject) >= timesAgain(known.commit.subject);
      if (files.has(path) && isLater) last.set(path, { name, commit });
    }
  }
  const writings = new Map<Ancestor, Writing>();
  for (const [path, { name, commit }] of last) {
    const writing = writings.get(commit) ?? { name, commit, paths: [] };
    writing.paths.push(path);
    writings.set(commit, writing);
  }
  return commits.flatMap((commit) => writings.get(commit) ?? []);
}

/** The end of the subject of a commit that published messages again. */
const AGAIN = /, again(?: (\d{1,9}))?$/;

export function timesAgain(subject: string): number {
  const [found, times = '1'] = AGAIN.exec(subject) ?? [];
  return found === undefined ? 0 : Number(times);
}

/** The subject of a commit, changed to say that it was published once more. */
function onceMore(subject: string): string {
  const times = timesAgain(subject) + 1;
  return `${subject.replace(AGAIN, '')}, again${times > 1 ? ` ${String(times)}` : ''}`;
}

/**
 * An answer that is back settles again what it settled before. A delegated task settles nothing:
 * the run that wrote it may have been ended before its answer. Neither does a word that was sent on the way
 * to an answer, such as a proposal, whose mail still waits; what is printed on the way ends its run.
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
  if (message.interim === true && message.printed !== true) return { commits };
  const { re, cause } = seenFrom(channel, channel, { relPath, message }).message;
  const named = byChannel(channel, [...new Set([...re, ...cause])]);
  const messages = named.get(channel) ?? [];
  named.delete(channel);
  const elsewhere = [...named].map(([place, paths]) => ({ channel: place, messages: paths }));
  const also = elsewhere.length > 0 ? { elsewhere } : {};
  return { commits, delivery: { actor: message.from, channel, messages, ...also } };
}

/** What a commit has in channels and memories that an earlier one lacks. */
export async function pathsOf(
  transport: Transport,
  parent: string,
  commit: string,
): Promise<string[]> {
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
