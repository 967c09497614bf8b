import { CHANNELS, CLAIMS } from '../../protocol/layout.ts';
import type { TreeEntry } from '../../transport/transport.ts';
import type { Context } from '../context.ts';
import { hasClaims } from '../lookup/taken.ts';

/**
 * Returns the folders of the claims on messages at a commit: they leave with their messages, and come back with them.
 *
 * @param messages the paths of their files
 * @param without another commit; what stands there is left out
 */
export async function claimFolders(
  { transport }: Pick<Context, 'transport'>,
  messages: readonly string[],
  commit: string,
  without?: string,
): Promise<TreeEntry[]> {
  if (!(await hasClaims(transport, commit))) return [];
  const folders = messages.flatMap((path) =>
    path.startsWith(`${CHANNELS}/`) ? [`${CLAIMS}/${path.slice(CHANNELS.length + 1)}`] : [],
  );
  const there = without === undefined ? undefined : await transport.entriesAt(without, folders);
  const found = await transport.entriesAt(commit, folders);
  return [...found.values()].filter(
    ({ path, type }) => type === 'tree' && there?.has(path) !== true,
  );
}
