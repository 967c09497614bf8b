import { isPrivate } from '../state/directory.ts';
import type { StatePaths } from '../state/state-paths.ts';
import type { Transport } from '../transport/transport.ts';

/** Shares ssh connections if the remote is reached by ssh; see {@link Transport}. */
export async function shareConnections(
  transport: Transport,
  paths: StatePaths,
  { opens }: { opens: boolean },
): Promise<void> {
  const overSsh = /^(ssh:|[^/:]+:(?!\/\/))/.test(transport.origin ?? '');
  if (overSsh && (await isPrivate(paths.connections, { make: opens })))
    transport.shareConnections(paths.connections, opens);
}
