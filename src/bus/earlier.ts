import { isTo } from '../protocol/causality.ts';
import { CHANNELS, folderUse, placeOf } from '../protocol/layout.ts';
import type { Located } from '../protocol/message.ts';
import type { Transport } from '../transport/transport.ts';
import type { MessageReader } from './message-reader.ts';

/** No more messages are looked at for what two have said to each other, however much others say. */
const MOST_LOOKED = 2000;
/** Messages read at a time. */
const AT_A_TIME = 100;

/** Two who write to each other in a channel, before a message. */
interface Between {
  /** The commit. */
  tip: string;
  channel: string;
  actor: string;
  other: string;
  /** The relPath of a message: only older ones count. */
  before: string;
  /** How many messages at most. */
  most: number;
}

/**
 * The last messages that two have written to each other in a channel (warm.md, `history`), oldest first. Read
 * from the newest day back, so it costs as much as was said since.
 */
export async function earlierBetween(
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

/** The messages of each day of a channel, newest day and newest message first. */
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
