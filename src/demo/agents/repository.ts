import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The repository in which the demo was started. */
export const repository = process.env['DEMO_REPOSITORY'] ?? process.cwd();

/** Runs git and returns its output, or undefined if the folder is not a repository. */
export function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', ['-C', repository, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 256 * 1024 * 1024,
    });
  } catch {
    return undefined;
  }
}

/** Lists the files of the repository, or of the folder if it is not a repository. */
export function files(): string[] {
  const listed = git('ls-files', '-z');
  if (listed !== undefined) return listed.split('\0').filter((path) => path !== '');
  const skipped = /(^|\/)(node_modules|\.git)(\/|$)/;
  return readdirSync(repository, { recursive: true, encoding: 'utf8' }).filter(
    (path) =>
      !skipped.test(path) &&
      statSync(join(repository, path), { throwIfNoEntry: false })?.isFile() === true,
  );
}

/** Reads a file's bytes; empty when it cannot be read. */
export function content(path: string): Buffer {
  try {
    return readFileSync(join(repository, path));
  } catch {
    return Buffer.alloc(0);
  }
}

/** Formats a count with its noun: `3 files`, `1 file`. */
export function plural(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the largest entries first. */
export function largest(counts: ReadonlyMap<string, number>, most: number): [string, number][] {
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, most);
}
