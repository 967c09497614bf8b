import { isTo } from '../protocol/causality.ts';
import { CHANNELS, folderUse, placeOf } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import type { Transport } from '../transport/transport.ts';
import type { MessageReader } from './message-reader.ts';
import { type Commit } from '../protocol/outgoing.ts';

/** Maximum number of messages read in the search for those of two actors, however much others write. */
const MOST_LOOKED = 2000;
/** Number of messages read at a time. */
const AT_A_TIME = 100;

/** The search for messages between two actors in a channel, before a message. */
interface Between {
  /** The commit. */
  tip: string;
  channel: string;
  actor: string;
  other: string;
  /** The relPath of a message: only older ones count. */
  before: string;
  /** Maximum number of results. */
  most: number;
}

/**
 * Returns the last messages that two actors have written to each other in a channel (warm.md, `history`),
 * oldest first. They are read from the newest day back, so the cost depends on the number of messages
 * since.
 */
export async function historyBetween(
  parts: { transport: Transport; reader: MessageReader },
  { tip, channel, actor, other, before, most }: Between,
): Promise<Located[]> {
  const found: Located[] = [];
  let looked = 0;
  for await (const relPaths of newestDays(parts.transport, tip, channel)) {
    const older = relPaths.filter((relPath) => relPath < before);
    for (let at = 0; at < older.length && looked < MOST_LOOKED; at += AT_A_TIME) {
      const some = older.slice(at, at + AT_A_TIME);
      looked += some.length;
      const read = await parts.reader.messages(tip, channel, some);
      found.push(...read.filter(({ message }) => isBetween(message, actor, other)));
      if (found.length >= most) return found.slice(0, most).reverse();
    }
    if (looked >= MOST_LOOKED) break;
  }
  return found.reverse();
}

function isBetween(message: Located['message'], actor: string, other: string): boolean {
  const { from } = message;
  return (from === other && isTo(message, actor)) || (from === actor && isTo(message, other));
}

/** Lists the messages of each day of a channel, newest day and newest message first. */
async function* newestDays(
  transport: Transport,
  tip: string,
  channel: string,
): AsyncGenerator<string[]> {
  const inside = async (folder: string): Promise<string[]> =>
    (await transport.list(tip, [folder]))
      .filter(({ type, path }) => type === 'tree' && folderUse(path) === 'enter')
      .map(({ path }) => path)
      .sort()
      .reverse();
  for (const year of await inside(`${CHANNELS}/${channel}`))
    for (const month of await inside(year))
      for (const day of await inside(month)) {
        const relPaths = (await transport.list(tip, [day])).flatMap(({ path, type }) => {
          const place = placeOf(path);
          return place.kind === 'message' && type === 'blob' ? [place.relPath] : [];
        });
        yield relPaths.sort().reverse();
      }
}

/**
 * Returns a commit of the outbox with all requirements: in addition to its own ones, its messages have to
 * be new.
 */
export function committed(commit: Commit): Commit {
  const messages = commit.files.filter(({ path }) => placeOf(path).kind === 'message');
  const fresh = messages.map(({ path }) => ({ path, oid: null }));
  return { ...commit, requires: [...(commit.requires ?? []), ...fresh] };
}
