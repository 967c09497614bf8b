import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What git says when it meets an object of the clone that is not what it was. */
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

/** The file in our own git directory that says that git has met a damaged object. */
export function markOf(gitDir: string): string {
  return join(gitDir, 'damaged');
}

/** Whether git has met a damaged object that nobody has looked for since. */
export function hasMet(gitDir: string): boolean {
  return existsSync(markOf(gitDir));
}

/** Takes note of what git has said when it failed; the next fetch of any process looks for what is damaged. */
export function noteDamage(gitDir: string, said: string): void {
  if (!DAMAGED.test(said) || hasMet(gitDir)) return;
  try {
    writeFileSync(markOf(gitDir), '', { flag: 'wx', mode: 0o600 });
  } catch {
    // On a full disk it is met again.
  }
}
