import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, scratch, type Host } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';

const PROGRAM = join(import.meta.dirname, '../../bin/crosstalk.js');

/** Runs a line of shell in a transport, with the built program on the PATH. */
async function shell(host: Host, line: string): Promise<Ran> {
  const folder = scratch();
  const script = `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`;
  writeFileSync(join(folder, 'crosstalk'), script, { mode: 0o755 });
  const path = `${folder}:${process.env['PATH'] ?? ''}`;
  const child = spawn('sh', ['-c', line], {
    cwd: host.dir,
    env: { ...process.env, ...host.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ran = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (ran.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (ran.err += chunk.toString()));
  const code = await new Promise<number>((done) =>
    child.on('close', (ended) => {
      done(ended ?? -1);
    }),
  );
  return { code, ...ran };
}

const setUp = async (): Promise<Host> => {
  const bus = new Bus();
  await bus.host('back', { worker: 'true' });
  return bus.host('front', { idle: 'true' });
};
const bodies = ({ bus }: Host): string[] => bus.messages().map(({ message }) => message.body);

it('a text and - send the text and then stdin', { tags: 'long' }, async () => {
  const host = await setUp();
  const { code, err } = await shell(
    host,
    `printf 'a diff\\n' | crosstalk send --to worker "please review" -`,
  );
  expect([code, err]).toEqual([0, '']);
  expect(bodies(host)).toEqual(['please review\n\na diff\n']);
});

it('what is left out on stdin is said, with the form that takes it, and not taken', async () => {
  const host = await setUp();
  const line = `{ crosstalk send --to worker "please review"; cat; } < local/rest; printf 'a diff\\n' | crosstalk send --to worker two`;
  const { code, out, err } = await shell(host, `mkdir -p local; echo left > local/rest; ${line}`);
  expect(code).toBe(0);
  expect(out).toMatch(/^Sent: \S+\nleft\nSent: \S+\n$/);
  expect(err).toBe(
    'crosstalk send: what is on stdin was left out; to send it, end the command with -\n',
  );
  expect(bodies(host)).toEqual(['please review', 'two']);
});

it('a stdin that never ends is not waited for', async () => {
  const host = await setUp();
  const line = `mkfifo fifo; sleep 60 > fifo & crosstalk send --to worker one < fifo; kill $!; rm fifo`;
  const { code, err } = await shell(host, line);
  expect([code, err]).toEqual([0, '']);
  expect(bodies(host)).toEqual(['one']);
});

it('bytes that are not UTF-8 are refused, and nothing is sent', { tags: 'long' }, async () => {
  const host = await setUp();
  for (const form of ['< bytes', '- < bytes', 'text - < bytes', '--file bytes']) {
    const line = `printf 'a\\377b' > bytes; crosstalk send --to worker ${form}`;
    const { code, out, err } = await shell(host, line);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(
      /^crosstalk send: (stdin|--file bytes) is not UTF-8 text \(3 bytes\); .*\n$/,
    );
  }
  expect(bodies(host)).toEqual([]);
});

it('--file takes stdin with -, and what a pipe gives', { tags: 'long' }, async () => {
  const host = await setUp();
  for (const form of ['--file - < one', '--file <(cat one)', '--file one']) {
    const line = `mkdir -p local; cd local; printf 'a diff\\n' > one; bash -c 'crosstalk send --to worker ${form}'`;
    const { code, err } = await shell(host, line);
    expect([code, err]).toEqual([0, '']);
  }
  expect(bodies(host)).toEqual(['a diff\n', 'a diff\n', 'a diff\n']);
});

it(
  'a text that never ends is refused, and a named pipe without a writer can be interrupted',
  { tags: 'long' },
  async () => {
    const host = await setUp();
    for (const line of [
      'yes | crosstalk send --to worker -',
      'crosstalk send --to worker --file /dev/zero',
    ]) {
      const { code, out, err } = await shell(host, line);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(
        /^crosstalk send: (stdin|--file \/dev\/zero) is longer than 64 MiB, .*\n$/,
      );
    }
    const pipe = join(scratch(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    // `timeout` says 124 after SIGTERM, and 137 after the SIGKILL that would follow.
    const line = `timeout --kill-after=20 3 crosstalk send --to worker --file ${pipe}`;
    const { code, out } = await shell(host, line);
    expect([code, out]).toEqual([124, '']);
    expect(bodies(host)).toEqual([]);
  },
);

it(
  'where stdin cannot be looked at, it is said that something may be there, and nothing is waited for',
  { tags: 'long' },
  async () => {
    for (const perl of [
      '',
      '#!/bin/sh\nexit 3\n',
      '#!/bin/sh\ntrap "" TERM\nsleep 20 &\nsleep 20\n',
    ]) {
      const host = await setUp();
      const folder = scratch();
      if (perl !== '') writeFileSync(join(folder, 'perl'), perl, { mode: 0o755 });
      const path =
        perl === ''
          ? `$(dirname $(command -v crosstalk)):$(dirname $(command -v git))`
          : `${folder}:$PATH`;
      const line = `printf 'a diff\\n' | PATH=${path} crosstalk send --to worker one`;
      const { code, out, err } = await shell(host, line);
      expect([code, out]).toEqual([0, expect.stringMatching(/^Sent: /)]);
      if (perl !== '')
        expect(err).toBe(
          'crosstalk send: whatever may be on stdin was left out; to send it, end the command with -\n',
        );
    }
  },
);
