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

/** Blobs by name, with one git process for all. */
export function readBlobs(dir: string, names: readonly string[]): Buffer[] {
  const out = execFileSync('git', ['-C', dir, 'cat-file', '--batch'], {
    input: `${names.join('\n')}\n`,
    maxBuffer: 1024 * 1024 * 1024,
  });
  const blobs: Buffer[] = [];
  for (let at = 0; at < out.length && blobs.length < names.length;) {
    const end = out.indexOf(10, at);
    const size = Number(out.subarray(at, end).toString().split(' ')[2] ?? Number.NaN);
    const none = Number.isNaN(size);
    blobs.push(none ? Buffer.alloc(0) : out.subarray(end + 1, end + 1 + size));
    at = none ? end + 1 : end + 1 + size + 1;
  }
  return blobs;
}
