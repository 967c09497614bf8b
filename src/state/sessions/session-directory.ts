import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bury, clearGraveyard } from '../removal.ts';
import { GONE, layBatch, makeRunDirectory, runDirectory, SEALED } from '../run-directory.ts';
import { layWhole } from './lay-whole.ts';

/** Names that stay in the directory of a session between its turns: its network socket, and its MCP servers. */
const STAYS = /^(?:n|mcp-.*\.sh)$/;

/**
 * Prepares the directory of a session for a turn, like that of a run; the first turn creates it.
 *
 * @param isOpen whether it exists
 */
export async function makeTurnDirectory(
  folder: string,
  { id, isOpen }: { id: string; isOpen: boolean },
  batch: readonly { name: string; content: string }[],
): Promise<string> {
  if (!isOpen) return makeRunDirectory(folder, id, batch);
  const dir = runDirectory(folder, id);
  await clearSessionDirectory(dir);
  await layWhole(dir, ['drop', 'batch'], (making) => layBatch(making, batch));
  return dir;
}

/**
 * Clears the directory of a session after a turn: everything that the turn has put there is removed. The
 * folder itself stays the same one, as a sandbox would not see another.
 */
export async function clearSessionDirectory(dir: string): Promise<void> {
  const gone = `${dir}${GONE}`;
  for (const name of await readdir(dir)) if (!STAYS.test(name)) await bury(join(dir, name), gone);
  await clearGraveyard(`${dir}${SEALED}`);
  await clearGraveyard(gone);
}
