import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Messages of git about an object of the clone that is damaged. */
const DAMAGED = new RegExp(
  `^(?:fatal|error): (?:${[
    String.raw`loose object \w+ .* is corrupt`,
    'object file .+ is empty',
    'unable to (?:unpack|parse) .+ header',
    'unable to stream',
    'header for .+ too long',
    '(?:garbage at end of|corrupt) loose object',
    'hash mismatch',
    'inflate: ',
  ].join('|')})`,
  'm',
);

/** Returns the mark in our own git directory of a damaged object that git has met. */
export function markOf(gitDir: string): string {
  return join(gitDir, 'damaged');
}

/** Whether git has met a damaged object that nobody has searched for since. */
export function hasMet(gitDir: string): boolean {
  return existsSync(markOf(gitDir));
}

/** Marks damage that the output of a failed git reports; the next fetch of any process searches for it. */
export function noteDamage(gitDir: string, said: string): void {
  if (!DAMAGED.test(said) || hasMet(gitDir)) return;
  try {
    writeFileSync(markOf(gitDir), '', { flag: 'wx', mode: 0o600 });
  } catch {
    // On a full disk git will meet it again.
  }
}
