import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

const FIRST = 3;
/** Flag of an open file that a new program does not inherit (Linux, open(2)). */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Returns the file descriptors that this process inherited, and would pass on to every program: files and
 * pipes that a sandbox knows nothing of. Node passes on none that it opened itself.
 */
function inherited(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((fd) => fd >= FIRST && !closesOnExec(fd));
  } catch {
    return [];
  }
}

function closesOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${String(fd)}`, 'utf8'));
    return (Number.parseInt(flags?.[1] ?? '0', 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    // It was open only for this check.
    return true;
  }
}

/**
 * Starts a program that inherits only its stdin, stdout and stderr: every other descriptor is replaced by `/dev/null`.
 *
 * @param start receives the entries of `stdio` after the first three
 */
export function withoutInherited<T>(start: (rest: (number | 'ignore')[]) => T): T {
  const open = inherited();
  if (open.length === 0) return start([]);
  const nothing = openSync('/dev/null', 'r+');
  try {
    const last = Math.max(...open);
    return start(
      Array.from({ length: last - FIRST + 1 }, (_, at) =>
        open.includes(at + FIRST) ? nothing : 'ignore',
      ),
    );
  } finally {
    closeSync(nothing);
  }
}
