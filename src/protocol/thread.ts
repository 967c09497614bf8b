import {
  chainLevels,
  originsOf,
  type Lookup,
  isQuestion,
  openQuestions,
  linksBytes,
  MAX_LINKS_BYTES,
} from './causality.ts';
import type { Located } from './message.ts';
import { byTime, placeOfRef } from './layout.ts';
import { type Delivery } from './mailbox.ts';

/**
 * Collects the thread behind a batch (protocol.md §4): the causal chain of the delivered messages, the other messages
 * that the actor wrote for the same questions, including its answers, and the reactions to them. So a CLI without
 * memory knows its earlier questions and answers. The batch itself is left out.
 *
 * @param channel the channel's messages since the oldest one of the chain, in any order
 * @returns oldest first, by path
 */
export function threadOf(
  batch: readonly Located[],
  actor: string,
  channel: readonly Located[],
  lookup: Lookup,
): Located[] {
  const thread = new Map<string, Located>();
  for (const located of chainLevels(batch, lookup).flat()) thread.set(located.relPath, located);
  const asked = new Set(
    [...thread.values()].flatMap(({ message }) =>
      message.from === actor ? originsOf(message) : [],
    ),
  );
  const own = channel.filter(
    ({ message }) =>
      message.from === actor &&
      [...message.re, ...message.cause].some((origin) => asked.has(origin)),
  );
  for (const located of own) thread.set(located.relPath, located);
  const ownPaths = new Set(own.map(({ relPath }) => relPath));
  for (const located of channel) {
    if (located.message.re.some((relPath) => ownPaths.has(relPath)))
      thread.set(located.relPath, located);
  }
  for (const { relPath } of batch) thread.delete(relPath);
  return [...thread.values()].sort((a, b) => byTime(a.relPath, b.relPath));
}

/**
 * Returns the first message of the thread to which a batch belongs: the message from which the batch descends by `re`
 * and `cause` and that descends from nothing itself. If there are several, or the start is unknown, the oldest one by
 * path.
 *
 * @param batch at least one message
 */
export function threadRoot(batch: readonly Located[], lookup: Lookup): string {
  return threadRoots(batch, lookup)[0] ?? '';
}

/**
 * Returns all messages from which a batch descends and that descend from nothing themselves, by path; see
 * {@link threadRoot}.
 */
export function threadRoots(batch: readonly Located[], lookup: Lookup): string[] {
  const all = chainLevels(batch, lookup).flat();
  const roots = all.filter(({ message }) => message.re.length === 0 && message.cause.length === 0);
  const paths = (roots.length > 0 ? roots : all).map(({ relPath }) => relPath);
  return paths.sort(byTime);
}

/**
 * Returns the relPath of the oldest message that can be in the thread of a batch; undefined when nothing
 * precedes the batch.
 */
export function threadStart(batch: readonly Located[], lookup: Lookup): string | undefined {
  const [, ...behind] = chainLevels(batch, lookup);
  const paths = behind.flat().map(({ relPath }) => relPath);
  const first = paths.sort(byTime)[0];
  return first === undefined ? undefined : placeOfRef('', first).relPath;
}

/** A message of a thread, below the message it answers, or otherwise below the one that caused it. */
export interface Branch extends Located {
  children: Branch[];
}

/**
 * Builds the causal tree of some messages of one channel. Each is below the first message it answers, or, without one,
 * below the first message that caused it; in a cycle of messages that name each other the oldest is the root.
 *
 * @returns the messages that are below no other, oldest first
 */
export function treesOf(messages: readonly Located[]): Branch[] {
  const sorted = [...messages].sort((a, b) => (a.relPath < b.relPath ? -1 : 1));
  const branches = new Map<string, Branch>(
    sorted.map((item) => [item.relPath, { ...item, children: [] }]),
  );
  const parents = new Map<string, Branch>();
  const isBelow = (branch: Branch, other: Branch): boolean => {
    for (let up: Branch | undefined = branch; up !== undefined; up = parents.get(up.relPath))
      if (up === other) return true;
    return false;
  };
  const roots: Branch[] = [];
  // Starting with the newest, so that in a cycle the oldest message finds all others below itself.
  for (const branch of [...branches.values()].reverse()) {
    const { re, cause } = branch.message;
    const named = [...re, ...cause].flatMap((relPath) => branches.get(relPath) ?? []);
    const parent = named.find((one) => !isBelow(one, branch));
    if (parent === undefined) {
      roots.unshift(branch);
      continue;
    }
    parents.set(branch.relPath, parent);
    parent.children.unshift(branch);
  }
  return roots;
}

/**
 * Most messages of a batch: the header of its answer names all of them, and has room for this many (protocol.md §2).
 */
export const MAX_BATCH = 1500;
/** Most bytes of bodies for one run; a single message is never larger (protocol.md §5). */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/**
 * Returns the name of the conversation to which a message delivered to `actor` belongs: only messages with the same
 * name may go to one run (protocol.md §5). New tasks belong together when one asker on one host sent them; if the asker
 * is an actor, which asks on behalf of others, it must have sent them for the same first messages. Questions in old
 * threads belong together when one asker asks them in one thread, and not to new tasks of that asker. Questions for
 * JSON are separate from those for another form. Answers of peers belong together when they lead to the same open
 * questions, and, if `actor` started the exchange itself, when they descend from the same first message.
 */
export function conversationOf(delivered: Located, actor: string, lookup: Lookup): string {
  const { message } = delivered;
  if (isQuestion(message)) {
    const behind = isFirst(delivered) ? [] : threadRoots([delivered], lookup);
    const form = message.schema === undefined ? '' : ` as ${message.schema}`;
    return `asked by ${message.from}@${message.host ?? ''} for ${behind.join()}${form}`;
  }
  const questions = openQuestions(delivered, actor, lookup).map(({ relPath }) => relPath);
  return questions.length > 0
    ? `for ${questions.sort().join()}`
    : `begun with ${threadRoot([delivered], lookup)}`;
}

/** Whether a message reacts to none, and so starts a thread. */
export function isFirst({ message: { re, cause } }: Located): boolean {
  return re.length + cause.length === 0;
}

/**
 * Splits the pending messages of one mailbox into batches, one for each conversation, with as many
 * messages as fit a run: at most {@link MAX_BATCH} messages whose paths fit into a header, and
 * {@link MAX_BATCH_BYTES}.
 *
 * @param pending in commit order
 * @param nameOf the conversation of each message; see {@link conversationOf}
 * @returns the batches in the order of their oldest message
 */
export function batchesOf(
  pending: readonly Delivery[],
  nameOf: (delivery: Delivery) => string,
): Delivery[][] {
  const batches = new Map<string, { messages: Delivery[]; links: number; bytes: number }>();
  const full = new Set<string>();
  for (const delivery of pending) {
    const name = nameOf(delivery);
    if (full.has(name)) continue;
    const batch = batches.get(name) ?? { messages: [], links: 0, bytes: 0 };
    const links = batch.links + linksBytes([delivery.relPath]);
    const bytes = batch.bytes + (delivery.bytes ?? 0);
    const room =
      batch.messages.length < MAX_BATCH && links <= MAX_LINKS_BYTES && bytes <= MAX_BATCH_BYTES;
    // A message that does not fit waits for the next batch, and so does everything after it.
    if (!room && batch.messages.length > 0) {
      full.add(name);
      continue;
    }
    batch.messages.push(delivery);
    batches.set(name, { messages: batch.messages, links, bytes });
  }
  return [...batches.values()].map(({ messages }) => messages);
}
