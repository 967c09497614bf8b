import { CHANNELS, folderUse } from '../../protocol/layout.ts';
import { Repeats } from '../../transport/transport.ts';
import { byTime, messageFiles, type MessageFile } from './arrivals.ts';
import type { Context } from '../context.ts';

/** What a folder that is there again is taken to hold. */
const REPEATED = 50;

/**
 * The message files of some channels, a day at a time, the newest first. Only the names of folders
 * are read on the way: what is older than the caller needs costs nothing.
 *
 * @param channels their ids
 * @param since the least a relPath may be, such as a time of the form that relPaths begin with
 * @param until what relPaths have to be less than
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

/** The days of a channel's folders, `YYYY/MM/DD`, the newest first. */
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

/** Names of the folders of ours in a folder, the greatest first; not of too many that are the same. */
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
