import { chmodSync, mkdtempSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes that all tests of a run hold at a time, with what a file with large ones needs. */
const ENOUGH = 4 * 1024 ** 3;

/** In memory, where there is room: half the time of the system goes into files that live a second. */
function fastest(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > ENOUGH ? '/dev/shm' : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Makes the folder that all files of this run of the tests are in, and removes it afterwards. */
export default function room(): () => void {
  const path = realpathSync(mkdtempSync(join(fastest(), 'ct-')));
  // Some tests act as other users in it.
  chmodSync(path, 0o711);
  process.env['TEST_ROOM'] = path;
  // For the processes that run the tests: each program that one starts costs time in proportion to its
  // memory, of which most was what the threads of Node had freed, each in an arena of its own.
  process.env['MALLOC_ARENA_MAX'] = '1';
  const remove = (): void => {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  };
  // Also where the run is interrupted.
  process.once('exit', remove);
  return remove;
}
