import type { WebDeadLetter, WebInbox, WebInboxItem, WebNow } from '../../api/api.ts';
import { endsByItself } from '../../protocol/text/words.ts';
import { messageKey } from '../../protocol/layout.ts';
import { FILTERS, type Filter } from '../route/route.ts';

/** Something in the inbox: a message, a dead letter of this machine, or both of one failure; or a limit. */
export interface Row {
  key: string;
  filter: Filter;
  /** Key of the thread to which it belongs. */
  thread: string;
  /** When it came. */
  at: string;
  item?: WebInboxItem;
  letter?: WebDeadLetter;
  limit?: WebNow['parked'][number];
}

/** A row on the page; one that is over stays in its place until the reader leaves. */
export interface ShownRow extends Row {
  isOver: boolean;
}

/** Returns everything that waits for the reader: first what asks, then what failed, then what came. */
export function rowsOf(inbox: WebInbox, { dead_letters: letters, parked, at }: WebNow): Row[] {
  const items = inbox.messages
    .filter((one) => one.waits_for_you || one.unread)
    .map((item): Row => {
      const letter = letters.find(({ id }) => id === item.dead_letter);
      return {
        key: messageKey(item),
        filter: item.waits_for_you ? 'asks' : item.failed === null ? 'answers' : 'failed',
        thread: messageKey(item.question ?? item),
        at: item.timestamp,
        item,
        ...(letter && { letter }),
      };
    });
  const told = new Set(items.map(({ letter }) => letter?.id));
  const untold = letters.filter(({ id, state }) => state !== 'retrying' && !told.has(id));
  const limits = parked.filter((one) => one.instead === undefined && !endsByItself(one.reason));
  const rows = [
    ...items,
    ...untold.map((letter): Row => ({
      ...{ key: letter.id, filter: 'failed', at: letter.last_failed_at, letter },
      thread: messageKey({ channel: letter.channel, relPath: letter.messages[0] ?? letter.id }),
    })),
    ...limits.map((limit): Row => {
      const key = `${limit.actor} ${limit.tier} ${limit.reason}`;
      return { key, filter: 'asks', thread: key, at, limit };
    }),
  ];
  return FILTERS.flatMap((filter) => {
    const some = rows.filter((row) => row.filter === filter);
    const threads = [...new Set(some.map(({ thread }) => thread))];
    return threads.flatMap((thread) => some.filter((row) => row.thread === thread));
  });
}

/** Adds news to shown rows so that nothing moves: what is gone stays and is over, and what is new comes last. */
export function withNews(shown: readonly ShownRow[], rows: readonly Row[]): ShownRow[] {
  const now = new Map(rows.map((row) => [row.key, row]));
  const known = new Set(shown.map(({ key }) => key));
  const fresh = rows.filter(({ key }) => !known.has(key));
  return [
    ...shown.map((row) => ({ ...row, ...now.get(row.key), isOver: !now.has(row.key) })),
    ...fresh.map((row) => ({ ...row, isOver: false })),
  ];
}

/** Returns rows by their threads, as far as they follow each other. */
export function groupsOf(rows: readonly ShownRow[]): ShownRow[][] {
  const groups: ShownRow[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    const [first] = last ?? [];
    if (first?.thread === row.thread && first.filter === row.filter) last?.push(row);
    else groups.push([row]);
  }
  return groups;
}
