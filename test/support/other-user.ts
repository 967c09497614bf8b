import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** The user `nobody`, who is unrelated to the other users. */
const NOBODY = 65534;

/** Why a test cannot act as another user here, or an empty text. */
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
 * A socket of another user, until the test ends, who answers every line with `answer` and records
 * what was sent.
 *
 * @param folder created first if it does not exist
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
