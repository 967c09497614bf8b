import { CHANNELS, folderUse } from '../../protocol/layout.ts';
import { Repeats } from '../../transport/transport.ts';
import { byTime, messageFiles, type MessageFile } from './arrivals.ts';
import type { Context } from '../context.ts';

/** The number of entries that a folder is assumed to contain when it was listed before. */
const REPEATED = 50;

/**
 * The message files of some channels, one day at a time, the newest first. On the way only the
 * names of folders are read, so messages older than the caller needs cost nothing.
 *
 * @param channels their ids
 * @param since the least relPath, such as a time in the form with which relPaths begin
 * @param until every relPath is less than this
 */
export async function* newestFirst(
  context: Context,
  commit: string,
  channels: readonly string[],
  since: string,
  until = '~',
): AsyncGenerator<MessageFile[]> {
  const walks = channels.map((channel) => ({ channel, days: daysOf(context, commit, channel) }));
  const heads = await Promise.all(walks.map(async (walk) => ({ ...walk, day: await next(walk) })));
  for (;;) {
    const day = heads.map((head) => head.day).reduce((a, b) => (b > a ? b : a), '');
    if (day === '' || day < since.slice(0, day.length)) return;
    const due = heads.filter((head) => head.day === day);
    if (day <= until.slice(0, day.length)) {
      const files = await Promise.all(
        due.map(({ channel }) => context.transport.list(commit, [`${CHANNELS}/${channel}/${day}`])),
      );
      yield messageFiles(files.flat())
        .filter(({ relPath }) => relPath >= since && relPath < until)
        .sort(byTime)
        .reverse();
    }
    for (const head of due) head.day = await next(head);
  }
}

async function next({ days }: { days: AsyncGenerator<string> }): Promise<string> {
  const step = await days.next();
  return step.done === true ? '' : step.value;
}

/** The days of a channel's folders as `YYYY/MM/DD`, the newest first. */
async function* daysOf(context: Context, commit: string, channel: string): AsyncGenerator<string> {
  const folder = `${CHANNELS}/${channel}`;
  const repeats = new Repeats();
  const inside = (path: string): AsyncGenerator<string> =>
    foldersOf(context, commit, path, repeats);
  for await (const year of inside(folder)) {
    for await (const month of inside(`${folder}/${year}`)) {
      const path = `${year}/${month}`;
      for await (const day of inside(`${folder}/${path}`)) yield `${path}/${day}`;
    }
  }
}

/**
 * The names of Crosstalk's folders in a folder, the greatest first, with a limit on identical ones.
 */
async function* foldersOf(
  { transport }: Context,
  commit: string,
  folder: string,
  repeats: Repeats,
): AsyncGenerator<string> {
  const entries = (await transport.list(commit, [folder]))
    .filter(({ type, path }) => type === 'tree' && folderUse(path) === 'enter')
    .sort((a, b) => (a.path < b.path ? 1 : -1));
  for (const { path, oid } of entries) {
    const look = repeats.look(path, [oid]);
    if (look === 'again') repeats.charge(path, REPEATED);
    if (look !== 'enough') yield path.slice(folder.length + 1);
  }
}
