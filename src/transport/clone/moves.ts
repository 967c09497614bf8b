import { watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Repository } from './handle.ts';

/**
 * Calls `moved` when our own tracking branch may have moved, until `over` is aborted. Where the system
 * does not tell, as on some file systems or when it watches as much as it may, nothing is called:
 * whoever waits has to look now and then as well.
 */
export function watchTracked(
  { gitDir, branch, origin }: Pick<Repository, 'gitDir' | 'branch' | 'origin'>,
  moved: () => void,
  over: AbortSignal,
): void {
  if (origin === undefined || over.aborted) return;
  const path = join(gitDir, 'refs', 'remotes', 'origin', branch);
  try {
    const watcher = watch(dirname(path), { persistent: false, signal: over }, (_, name) => {
      if (name === null || name === basename(path)) moved();
    });
    watcher.on('error', () => undefined);
  } catch {
    // It is looked at all the same.
  }
}
