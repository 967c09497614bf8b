import { CHANNELS, folderUse } from '../protocol/layout.ts';
import { dayBefore } from '../protocol/names.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * The files of a channel at a commit, by path, some at a time.
 *
 * @param from a relPath: only files from the day before it on, because clocks differ; undefined for
 *   all
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

/** The folders below `parent` that hold `start` (a path of names) or anything after it. */
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
  /** Why a folder was not entered; undefined for a file or a folder that was. */
  unread?: string;
}
