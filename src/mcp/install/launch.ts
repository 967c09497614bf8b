import { access, constants, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { assertStays, binPath } from '../../package.ts';
import type { Client, ServerCommand } from './clients.ts';

/**
 * Variables of this shell that determine where the state is; a client may have another environment.
 */
const KEPT = ['CROSSTALK_STATE_DIR', 'XDG_STATE_HOME'];

/**
 * Returns the command by which a client starts the server: by name, if its PATH is that of a shell and finds this
 * program; otherwise by the paths of node and of this program.
 *
 * @param options `node`: the path of node; `from`: the sender
 * @throws CrosstalkError `refused` where this program does not stay
 */
export async function launchOf(
  client: Client,
  env: NodeJS.ProcessEnv,
  { node, transport, from }: { node: string; transport: string; from?: string },
): Promise<ServerCommand> {
  assertStays(binPath());
  const isOnPath = client.isEditor !== true && (await leadsHere(env['PATH'] ?? ''));
  const kept = KEPT.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return {
    command: isOnPath ? 'crosstalk' : node,
    args: isOnPath ? ['mcp'] : [binPath(), 'mcp'],
    env: {
      CROSSTALK_TRANSPORT: transport,
      ...(from !== undefined && { CROSSTALK_FROM: from }),
      ...Object.fromEntries(kept),
    },
  };
}

/** Whether the first `crosstalk` on a PATH is this program. */
async function leadsHere(path: string): Promise<boolean> {
  const here = await realpath(binPath());
  for (const folder of path.split(delimiter).filter((one) => one !== '')) {
    const program = join(folder, 'crosstalk');
    const isThere = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return (await realpath(program)) === here;
  }
  return false;
}
