import { CHANNELS, folderUse, placeOf, dayBefore } from '../protocol/layout.ts';
import type { Transport } from '../transport/transport.ts';
import type { ThreadStart } from './thread-start.ts';

/**
 * Lists the files of a channel at a commit, by path, some at a time.
 *
 * @param from a relPath: only files from the day before it on, because clocks differ; undefined for all
 */
export async function* channelFiles(
  transport: Transport,
  commit: string,
  channel: string,
  from: string | undefined,
): AsyncGenerator<FileRef[]> {
  const folder = `${CHANNELS}/${channel}`;
  const folders =
    from === undefined
      ? [folder]
      : await foldersFrom(transport, commit, folder, dayBefore(from).split('/'));
  for (const one of folders) yield* transport.walk(commit, one);
}

/** Lists the files of a channel at a commit that were added since something started, or are as new by name. */
export async function* filesSince(
  transport: Transport,
  commit: string,
  channel: string,
  begun: ThreadStart,
): AsyncGenerator<FileRef[]> {
  yield* channelFiles(transport, commit, channel, begun.relPath);
  const edge = dayBefore(begun.relPath);
  const isOlder = ({ path }: FileRef): boolean => {
    const place = placeOf(path);
    return place.kind === 'message' && place.relPath < edge;
  };
  const folder = `${CHANNELS}/${channel}`;
  const base = await begun.base();
  if (base === undefined)
    for await (const files of transport.walk(commit, folder)) yield files.filter(isOlder);
  else
    for await (const changes of transport.changes(base, commit, [folder]))
      yield changes.filter((change) => change.status !== 'D' && isOlder(change));
}

/** Returns the folders below `parent` that hold `start` (a path of names) or anything after it. */
async function foldersFrom(
  transport: Transport,
  commit: string,
  parent: string,
  [first, ...rest]: string[],
): Promise<string[]> {
  if (first === undefined) return [parent];
  const entries = await transport.list(commit, [parent]);
  const folders = entries
    .filter(({ type, path }) => type === 'tree' && folderUse(path) === 'enter')
    .map(({ path }) => path);
  const edge = `${parent}/${first}`;
  const inside = folders.includes(edge) ? await foldersFrom(transport, commit, edge, rest) : [];
  return [...inside, ...folders.filter((path) => path > edge)];
}

/** A file, as a tree or a comparison of trees lists it. */
export interface FileRef {
  path: string;
  oid: string;
  mode: string;
  /** The reason why a folder was not entered; undefined for a file or a folder that was. */
  unread?: string;
}
