import { CHANNELS } from '../protocol/layout.ts';
import { byTime, messageFiles, type MessageFile } from './arrivals.ts';
import type { Context } from './context.ts';

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
  for (const year of await foldersOf(context, commit, folder, /^\d{4}$/)) {
    for (const month of await foldersOf(context, commit, `${folder}/${year}`, /^\d{2}$/)) {
      const path = `${year}/${month}`;
      for (const day of await foldersOf(context, commit, `${folder}/${path}`, /^\d{2}$/))
        yield `${path}/${day}`;
    }
  }
}

/** Names of the folders in a folder, the greatest first. */
async function foldersOf(
  { transport }: Context,
  commit: string,
  folder: string,
  form: RegExp,
): Promise<string[]> {
  const entries = await transport.list(commit, [folder]);
  return entries
    .filter(({ type }) => type === 'tree')
    .map(({ path }) => path.slice(folder.length + 1))
    .filter((name) => form.test(name))
    .sort()
    .reverse();
}
