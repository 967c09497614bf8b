import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Context } from '../context.ts';

/**
 * Requests the running dispatcher to look for news now.
 *
 * @throws CrosstalkError `not_found` when none is running on this machine
 */
export async function wake({ paths, transport }: Context): Promise<{ pid: number }> {
  const asked = await ask(paths.socket, { op: 'wake' }, 5000);
  if (asked.kind === 'answered') return { pid: asked.answer.pid };
  throw new CrosstalkError(
    'not_found',
    asked.kind === 'timeout'
      ? `the dispatcher of ${transport.dir} does not answer; look at it with: crosstalk status`
      : `no dispatcher is running here for ${transport.dir}; start one with: crosstalk dispatch`,
  );
}
