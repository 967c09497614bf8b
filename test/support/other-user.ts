import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** `nobody`, who has no part in what other users do. */
const NOBODY = 65534;

/** Why no other user can be played here, or an empty text. */
export const noOtherUser =
  process.getuid?.() === 0 ? '' : ' (skipped: only root can be another user)';

/** Runs a shell script as another user of this machine. */
export function asOther(script: string): void {
  execFileSync('sh', ['-c', script], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
  });
}

/**
 * A socket of another user's, until the test ends, who answers every line with `answer` and tells
 * what was said to it.
 *
 * @param folder made first, if it is not there
 */
export async function otherListens(
  folder: string,
  name: string,
  answer: unknown,
): Promise<{ heard: () => string }> {
  const script = `
    process.umask(0);
    const fs = require('node:fs'), net = require('node:net');
    fs.mkdirSync(process.argv[1], { recursive: true, mode: 0o777 });
    process.chdir(process.argv[1]);
    net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => { process.stdout.write(data); socket.write(process.argv[3] + '\\n'); });
    }).listen(process.argv[2], () => process.stdout.write('listening\\n'));`;
  const child = spawn(process.execPath, ['-e', script, folder, name, JSON.stringify(answer)], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let heard = '';
  child.stdout.on('data', (data: Buffer) => (heard += data.toString()));
  onTestFinished(async () => {
    const gone = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGKILL')) await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  if (!heard.startsWith('listening')) throw new Error('the other user cannot listen');
  return { heard: () => heard.slice('listening\n'.length) };
}
