import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

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

/** Makes a disk at a folder, which a system makes read-only under open files as soon as it finds it failing. */
function mountDisk(folder: string, image: string): void {
  execFileSync('mount', ['-o', 'loop', image, folder], { stdio: 'ignore' });
}

/** Whether this test may make a disk that fails. */
export function canFail(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'mount-'));
  try {
    makeDisk(probe, join(probe, 'image'));
    execFileSync('umount', [probe], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}

function makeDisk(folder: string, image: string): void {
  writeFileSync(image, '');
  truncateSync(image, 64 << 20);
  execFileSync('mkfs', ['--type=ext4', '-q', image], { stdio: 'ignore' });
  mountDisk(folder, image);
}

/**
 * Moves what is in a folder to a disk of its own, which can begin to take no writes while there is room.
 *
 * @param image where the disk is kept
 */
export function onFailingDisk(
  folder: string,
  image: string,
): { fail: () => void; /** Once nothing has a file open there. */ mend: () => void } {
  const saved = execFileSync('tar', ['-C', folder, '-cf', '-', '.'], { maxBuffer: 2 ** 28 });
  makeDisk(folder, image);
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' });
  });
  rmSync(join(folder, 'lost+found'), { recursive: true });
  execFileSync('tar', ['-C', folder, '-xf', '-'], { input: saved });
  return {
    fail: () => {
      // What nobody has flushed is lost with it, such as what was moved here.
      execFileSync('sync', ['--file-system', folder]);
      execFileSync('mount', ['-o', 'remount,abort', folder], { stdio: 'ignore' });
    },
    mend: () => {
      // A process that has just ended may have had it open.
      const often = 'for n in 1 2 3 4 5 6 7 8 9; do umount "$0" && exit; sleep 0.2; done; exit 1';
      execFileSync('sh', ['-c', often, folder], { stdio: 'ignore' });
      mountDisk(folder, image);
    },
  };
}
