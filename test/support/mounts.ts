import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Mounts something at a folder.
 *
 * @param options `bind,ro` for the folder itself, to which nothing can be written then; otherwise those of a
 *   file system in memory, such as `size=1m`
 * @returns ends it, also when called twice
 */
export function mounted(path: string, options: string): () => void {
  const quiet = { stdio: 'ignore' } as const;
  if (options === 'bind,ro') {
    execFileSync('mount', ['--bind', path, path], quiet);
    execFileSync('mount', ['-o', 'remount,bind,ro', path], quiet);
  } else execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], quiet);
  let isMounted = true;
  return () => {
    if (!isMounted) return;
    isMounted = false;
    execFileSync('umount', ['--lazy', path], quiet);
  };
}

/** Whether this test may mount something. */
export function canMount(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'mount-'));
  try {
    mounted(probe, 'size=64k')();
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}
