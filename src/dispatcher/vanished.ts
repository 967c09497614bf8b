import { CHANNELS, MEMORIES, placeOf } from '../protocol/layout.ts';
import type { OutboxCommit, OutboxEntry } from '../state/outbox.ts';
import type { Ancestor, Transport } from '../transport/transport.ts';
import type { Archive } from './archive.ts';

/** What a rewritten history has taken away. */
export interface Vanished {
  /** What this machine wrote, to be published again, oldest first. */
  again: Omit<OutboxEntry, 'id'>[];
  /** How many more messages are gone: somebody else's, or taken out on purpose. */
  gone: number;
  /** Paths of all messages that are missing now. */
  missing: string[];
}

/** So many commits are looked at: what was lost to a backup of last month is for a person to judge. */
const MANY = 20_000;
/** Bytes that are held to be published again. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Compares the bus with what it held before its history was rewritten.
 *
 * A branch that was set back (a backup restored, an older clone pushed by force) has lost everything
 * after a point: nothing that this machine wrote since is there any more, and that is published again
 * (protocol.md §5). A history from which somebody took a message out on purpose still has the rest, and
 * is left as it is: what vanished is only counted.
 *
 * @param names what the authors of commits made on this machine are at: its alias and its hostname
 */
export async function vanished(
  { transport, archive }: { transport: Transport; archive: Archive },
  names: readonly string[],
  from: string,
  tip: string,
): Promise<Vanished> {
  const isKnown = (await transport.objects.read(`${from}^{commit}`)) !== undefined;
  if (!isKnown) return { again: [], gone: 0, missing: [] };
  const missing = await missingMessages(transport, from, tip);
  const gone = missing.length;
  const nothing = { again: [], gone, missing };
  const base = gone === 0 ? undefined : await transport.mergeBase(from, tip);
  if (base === undefined) return nothing;
  const again: Vanished['again'] = [];
  let bytes = 0;
  for (const commit of await transport.commitsSince(base, from, MANY)) {
    const isOurs = names.some((name) => commit.author.email.endsWith(`@${name}.crosstalk.local`));
    if (!isOurs || commit.parent === '') continue;
    const files = await filesOf(transport, commit.parent, commit.oid);
    bytes += files.reduce((sum, { content }) => sum + content.length, 0);
    if (bytes > MAX_BYTES) return nothing;
    if (files.length > 0) again.push(await entryOf(archive, commit, files));
  }
  const paths = again.flatMap(({ commits }) =>
    commits.flatMap(({ files }) => files.map(({ path }) => path)),
  );
  if ((await transport.standing(tip, paths)).size > 0) return nothing;
  const messages = paths.filter((path) => placeOf(path).kind === 'message').length;
  return { again, gone: gone - messages, missing };
}

/** An answer settles again what it settled before, once it is back. */
async function entryOf(
  archive: Archive,
  { oid, author, subject, at }: Ancestor,
  files: OutboxCommit['files'],
): Promise<Omit<OutboxEntry, 'id'>> {
  const commits = [{ at: at.toISOString(), author, subject, files }];
  const [place] = files.length === 1 ? files.map(({ path }) => placeOf(path)) : [];
  if (place?.kind !== 'message') return { commits };
  const { channel, relPath } = place;
  const message = await archive.message(oid, channel, relPath);
  const messages = message === undefined ? [] : [...new Set([...message.re, ...message.cause])];
  if (message?.host === undefined || messages.length === 0) return { commits };
  return { commits, delivery: { actor: message.from, channel, messages } };
}

async function missingMessages(transport: Transport, from: string, tip: string): Promise<string[]> {
  const missing: string[] = [];
  for await (const changes of transport.changes(tip, from, [CHANNELS]))
    for (const { path, status } of changes)
      if (status === 'A' && placeOf(path).kind === 'message') missing.push(path);
  return missing;
}

/** What a commit added to channels and memories. */
async function filesOf(
  transport: Transport,
  parent: string,
  commit: string,
): Promise<OutboxCommit['files']> {
  const files: OutboxCommit['files'] = [];
  for await (const changes of transport.changes(parent, commit, [CHANNELS, MEMORIES]))
    for (const { path, oid, status } of changes) {
      const content = status === 'A' ? (await transport.objects.read(oid))?.content : undefined;
      if (content !== undefined) files.push({ path, content: content.toString('utf8') });
    }
  return files;
}
