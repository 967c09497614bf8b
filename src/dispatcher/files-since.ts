import { CHANNELS, folderUse, placeOf } from '../protocol/layout.ts';
import { dayBefore } from '../protocol/names.ts';
import type { Transport } from '../transport/transport.ts';

/**
 * Files of messages of a channel from the day before `relPath` on, by path; at most `limit` of the
 * first. Only the folders of those days are read.
 */
export async function filesSince(
  transport: Transport,
  commit: string,
  channel: string,
  relPath: string,
  limit: number,
): Promise<{ relPath: string; oid: string }[]> {
  const start = dayBefore(relPath).split('/');
  const found: { relPath: string; oid: string }[] = [];
  for (const from of await foldersFrom(transport, commit, `${CHANNELS}/${channel}`, start)) {
    for await (const files of transport.walk(commit, from))
      for (const { path, oid } of files) {
        const place = placeOf(path);
        if (place.kind === 'message') found.push({ relPath: place.relPath, oid });
      }
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
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
