import { watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Repository } from './handle.ts';

/**
 * Calls `moved` when our own tracking branch may have moved, until `over` is aborted. Where the system
 * cannot notify, as on some file systems or at its limit of watches, nothing is called: the caller has to
 * poll as well.
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
    // The caller polls in any case.
  }
}
