import { CrosstalkError } from '../../errors.ts';
import { acquire, type Holder } from '../../state/lock.ts';
import { ask } from './wake.ts';

/**
 * Makes this process the one dispatcher that serves a transport on this machine.
 *
 * @param dir the folder of the transport
 * @param place the state directory, and the socket in it
 * @returns a function that gives the place up
 * @throws CrosstalkError `locked` when another process has it
 */
export async function becomeSole(
  dir: string,
  { root, socket }: { root: string; socket: string },
): Promise<() => Promise<void>> {
  const lock = await acquire(root, 'dispatcher', { wait: 0 });
  if (!lock.ok) throw alreadyRunning(dir, lock.holder);
  const answering = await ask(socket, { op: 'ping' }, 500);
  if (answering.kind === 'answered') {
    await lock.release();
    throw alreadyRunning(dir, { pid: answering.answer.pid, started: '', since: 'an unknown time' });
  }
  return () => lock.release();
}

function alreadyRunning(dir: string, { pid, since }: Holder): CrosstalkError {
  return new CrosstalkError(
    'locked',
    `another dispatcher serves ${dir} on this machine: process ${String(pid)}, since ${since}; stop it first, or use it`,
    { data: { pid, since } },
  );
}
