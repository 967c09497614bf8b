import { type MessageRef, placeOf, messageFile, relPathAt } from './layout.ts';
import { parseMessage, type Message, formatMessage } from './message.ts';

/** Returns the commit author for a logical name that writes on a host (or from an operator's machine). */
export function authorOf(name: string, host: string): { name: string; email: string } {
  return { name, email: `${name}@${host}.crosstalk.local` };
}

/** Number of messages in one batch from which one author's messages share commits. */
const BULK = 50;
const FILES_PER_COMMIT = 1000;

/**
 * Combines the commits of messages that are recorded together. If there are few, each keeps its own
 * commit, as does every answer and `send`; if there are very many, successive messages of one
 * author share commits: for every commit git rewrites the folders above a file, which for a
 * thousand messages is nearly all of the work. Within a commit the order is that of the paths.
 */
export function inBulk<C extends Commit>(commits: readonly C[]): C[] {
  if (commits.length < BULK) return [...commits];
  const shared: C[] = [];
  for (const commit of commits) {
    const last = shared.at(-1);
    const joins =
      last !== undefined &&
      commit.clear === undefined &&
      last.clear === undefined &&
      commit.blobs === undefined &&
      last.blobs === undefined &&
      // A commit with its own conditions stands or falls alone.
      commit.requires === undefined &&
      last.requires === undefined &&
      last.author.name === commit.author.name &&
      last.author.email === commit.author.email &&
      last.files.length + commit.files.length <= FILES_PER_COMMIT;
    if (joins) last.files.push(...commit.files);
    else shared.push({ ...commit, files: [...commit.files] });
  }
  return shared.map((commit) =>
    commit.files.length === 1
      ? commit
      : {
          ...commit,
          subject: `crosstalk: ${String(commit.files.length)} messages from ${commit.author.name}`,
        },
  );
}

/**
 * Returns the final path and bytes of a message, and the commit that contains it.
 *
 * @param origin the machine's name in the commit's author address
 * @param suffix at least 8 hex digits from a CSPRNG
 */
export function outgoing(
  message: Message,
  channel: string,
  origin: string,
  suffix: string,
): { relPath: string; commit: Commit } {
  const relPath = relPathAt(new Date(message.timestamp), suffix);
  const kind = message.re.length === 0 ? 'message' : 'reply';
  return {
    relPath,
    commit: {
      at: message.timestamp,
      author: authorOf(message.from, message.host ?? origin),
      subject: `crosstalk: ${kind} from ${message.from} in ${channel.slice(0, 8)}`,
      files: [{ path: messageFile(channel, relPath), content: formatMessage(message) }],
    },
  };
}

/** A file that waits to be published. */
export interface QueuedFile {
  path: string;
  content: string;
}

/** Returns the messages that a file answers, if it is a message with answers. */
export function questionsOf(file: QueuedFile): MessageRef[] {
  const { channel = '', message } = messageIn(file);
  return message?.re.map((relPath) => ({ channel, relPath })) ?? [];
}

/** Whether a file is a message that an actor wrote because of others, such as a task that it delegates. */
export function isCaused(file: QueuedFile, actor: string): boolean {
  const { message } = messageIn(file);
  return message?.from === actor && message.cause.length > 0;
}

function messageIn({ path, content }: QueuedFile): { channel?: string; message?: Message } {
  const place = placeOf(path);
  const message = place.kind === 'message' ? parseMessage(Buffer.from(content)) : undefined;
  return place.kind === 'message' && message?.ok === true
    ? { channel: place.channel, message: message.value }
    : {};
}

/** A condition on the tip on which a commit is built; if it does not hold, the commit is not made. */
export interface Requirement {
  path: string;
  /** The id of the file's content; null if the file must not exist. */
  oid: string | null;
  /** Whether the file may be gone as well. */
  orAbsent?: true;
}

/** A file of any bytes, such as an attached one: its bytes are stored elsewhere until they are in git. */
export interface Blob {
  path: string;
  /** SHA-256 of its bytes. */
  sha256: string;
  bytes: number;
  /** The outbox entry beside which its bytes are stored. */
  kept?: string;
  /** Object id in git, once git has it. */
  oid?: string;
  /** Whether compression would make it no smaller, as with a picture; known once git has it. */
  dense?: boolean;
}

/**
 * A commit to be made: added or replaced files with their own author (architecture, group commit). It has the
 * same form when it is passed on, in the outbox, and when it is built on a tip.
 */
export interface Commit {
  author: { name: string; email: string };
  /** The date of the commit, as ISO 8601 in UTC. */
  at: string;
  subject: string;
  files: { path: string; content: string }[];
  blobs?: readonly Blob[];
  /** A folder that is emptied first, so that its content is replaced completely. */
  clear?: string;
  /** Checked at every attempt, on the tip on which the attempt builds. */
  requires?: readonly Requirement[];
  /** Set if the commit is left out when a requirement does not hold; the commits to be published with it are not. */
  optional?: true;
}
