import { execFileSync } from 'node:child_process';

/** Runs git as a person does who works in a clone by hand. */
export function git(dir: string, ...args: string[]): string {
  return execFileSync('git', ['-C', dir, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: 'Somebody',
      GIT_AUTHOR_EMAIL: 'somebody@example.com',
      GIT_COMMITTER_NAME: 'Somebody',
      GIT_COMMITTER_EMAIL: 'somebody@example.com',
    },
    maxBuffer: 512 * 1024 * 1024,
  });
}
