import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { git } from './git.ts';

/** Commits many files to a bare repository's branch `main` at once. */
export async function fastImport(
  dir: string,
  files: readonly (readonly [path: string, content: string])[],
): Promise<void> {
  const tip = git(dir, 'rev-parse', 'main').trim();
  const child = spawn('git', ['-C', dir, 'fast-import', '--quiet', '--force'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  child.stdin.write(
    `commit refs/heads/main\ncommitter b <b@example.com> 1700000000 +0000\ndata 0\nfrom ${tip}\n`,
  );
  for (const [path, content] of files) {
    const size = String(Buffer.byteLength(content));
    if (!child.stdin.write(`M 100644 inline ${path}\ndata ${size}\n${content}\n`))
      await once(child.stdin, 'drain');
  }
  child.stdin.end();
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(`git fast-import ended with ${String(code)}`);
}
