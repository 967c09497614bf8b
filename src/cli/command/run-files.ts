import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { readWhole } from '../../plain-file.ts';
import type { AgentMode } from '../../operations/agent-mode.ts';
import { MAX_MESSAGE_BYTES } from '../../protocol/message.ts';
import { shown } from '../../protocol/text/result.ts';
import { utf8 } from './stdin.ts';

/**
 * The text of a file that a run sends; see {@link bytesInRun}.
 *
 * @throws CrosstalkError `usage`
 */
export async function readInRun(
  mode: AgentMode,
  cwd: string,
  file: string,
  option: '--file' | '--schema' = '--file',
): Promise<string> {
  const bytes = await bytesInRun(mode, cwd, file, { option, limit: MAX_MESSAGE_BYTES });
  return utf8(bytes, `${option} ${shown(file)}`);
}

/**
 * A file that a run sends: a regular file below the folder it works in, its own directory or the
 * checkout, after following symlinks (trust.md §3). Files in the `.git` folder of the checkout are
 * refused, because it may contain credentials.
 *
 * @param given the option that names it, and the bytes it may have
 * @throws CrosstalkError `usage` for any other file
 */
export async function bytesInRun(
  mode: AgentMode,
  cwd: string,
  file: string,
  { option, limit }: { option: '--file' | '--attach' | '--schema'; limit: number },
): Promise<Buffer> {
  const refused = (why: string): CrosstalkError =>
    new CrosstalkError(
      'usage',
      `${option} ${shown(file)} ${why}; a run may send files below its working directory, CROSSTALK_RUN_DIR or the checkout`,
    );
  const path = await realpath(resolve(cwd, file)).catch((error: unknown) => {
    throw refused(`cannot be read: ${reasonOf(error)}`);
  });
  if (!(await isAllowed(mode, path))) throw refused(`is not for a run: it lies elsewhere`);
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    throw refused(`cannot be read: ${reasonOf(error)}`);
  });
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw refused('is not for a run: it is no regular file');
    if (found.size > limit) throw refused(`has ${String(found.size)} bytes, too many`);
    const bytes = await readWhole(handle, found.size);
    if (typeof bytes === 'string') throw refused(bytes);
    return bytes;
  } finally {
    await handle.close();
  }
}

async function isAllowed(
  { workdir, runDir, transport, state }: AgentMode,
  path: string,
): Promise<boolean> {
  const below = async (folder: string | undefined): Promise<boolean> => {
    if (folder === undefined) return false;
    const root = await realpath(folder).catch(() => undefined);
    return root !== undefined && root !== sep && path.startsWith(root + sep);
  };
  if (await below(runDir)) return true;
  // A run may read neither of these folders, wherever they are.
  const inWorkplaces = (await below(at(state, 'work'))) || (await below(at(state, 'worktrees')));
  if ((await below(state)) && !inWorkplaces) return false;
  if (transport !== undefined && (await below(join(transport, '.git')))) return false;
  return (await below(workdir)) || below(transport);
}

/** The workspaces and the copies of repositories are in the state directory. */
function at(state: string | undefined, folder: string): string | undefined {
  return state === undefined ? undefined : join(state, folder);
}
