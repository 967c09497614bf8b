import { atPath } from '../../at-path.ts';
import { CrosstalkError } from '../../errors.ts';
import { makeFolder } from '../../folder.ts';
import { acquire, lockPath, type Holder, isGivenTwice } from '../../state/lock.ts';
import { fileSystemAt } from '../../state/place/file-system.ts';
import { ask } from './wake.ts';

/** The place of the one dispatcher of a transport on this machine. */
export interface DispatcherLock {
  /**
   * Resolves once it is sure that nobody else is given the place; nothing may run or be ended before.
   *
   * @throws CrosstalkError `refused` where the file system keeps no locks
   */
  sure: Promise<void>;
  /** @throws CrosstalkError `locked` once the state directory was replaced: another may have the place in it */
  check: () => void;
  /** Gives the place up. */
  release: () => Promise<void>;
}

/** Path of the lock, and the way to take it. */
interface Place {
  /** The state directory. */
  root: string;
  socket: string;
  /** Whether the state directory may lie where other machines could use it. */
  sharedState: boolean;
}

/**
 * Makes this process the one dispatcher that serves a transport on this machine.
 *
 * @param dir the folder of the transport
 * @throws CrosstalkError `locked` when another process has it, `refused` where other machines may have it
 */
export async function lockDispatcher(
  dir: string,
  { root, socket, sharedState }: Place,
): Promise<DispatcherLock> {
  await makeFolder(root, 0o700);
  const on = await fileSystemAt(root);
  if (on.kind === 'shared' && !sharedState)
    throw new CrosstalkError(
      'refused',
      `the state directory ${root} is on ${on.name}, which other machines may use at the same time, and two dispatchers would run its mail twice: give another with CROSSTALK_STATE_DIR, or start with --shared-state if only this machine uses it`,
    );
  const lock = await acquire(root, 'dispatcher', { wait: 0 });
  if (!lock.ok) throw alreadyRunning(dir, lock.holder);
  const answering = await ask(socket, { op: 'ping' }, 500);
  if (answering.kind === 'answered') {
    await lock.release();
    throw alreadyRunning(dir, { pid: answering.answer.pid, started: '', since: 'an unknown time' });
  }
  // A child costs a tenth of a second, and learns nothing new where the kernel keeps the locks itself.
  const sure = on.kind === 'kept' ? Promise.resolve() : assertKept(root);
  const path = lockPath(root, 'dispatcher');
  const fileThere = (): number | undefined => atPath(path, { follow: false })?.ino;
  const held = fileThere();
  const check = (): void => {
    const there = fileThere();
    // One that cannot be looked at for a moment is nobody else's.
    if (there === undefined || there === held) return;
    throw new CrosstalkError(
      'locked',
      `the state directory ${root} was replaced while this dispatcher ran, so another one may serve ${dir} by now: it has ended; start it again`,
    );
  };
  return { sure, check, release: () => lock.release() };
}

async function assertKept(root: string): Promise<void> {
  if (!(await isGivenTwice(root, 'dispatcher'))) return;
  throw new CrosstalkError(
    'refused',
    `the file system of the state directory ${root} keeps no locks: another process could lock ${lockPath(root, 'dispatcher')}, which this one holds, and two dispatchers would run its mail twice; give a directory on another file system with CROSSTALK_STATE_DIR`,
  );
}

function alreadyRunning(dir: string, { pid, since }: Holder): CrosstalkError {
  return new CrosstalkError(
    'locked',
    `another dispatcher serves ${dir} on this machine: process ${String(pid)}, since ${since}; stop it first, or use it`,
    { data: { pid, since } },
  );
}
