import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { announceArrivals } from '../../src/actions/session/start.ts';
import { tipOf, withContext } from '../../src/actions/context.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { until } from '../support/wait.ts';

/** Collects what is announced to a name on a machine from now on, while the test continues. */
async function listen(host: Host, name: string): Promise<string[]> {
  const heard: string[] = [];
  const noted: string[] = [];
  const over = new AbortController();
  const env = { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir };
  const note = (line: string): void => {
    noted.push(line);
  };
  await new Promise<void>((begun, failed) => {
    const listening = withContext({ env, cwd: host.dir }, { note }, async (context) => {
      const since = await tipOf(context);
      begun();
      await announceArrivals(
        context,
        name,
        since,
        (messages) => {
          heard.push(...messages.map(({ from, body }) => `${from}: ${body.trim()}`));
        },
        over.signal,
      );
    });
    listening.catch(failed);
    onTestFinished(async () => {
      over.abort();
      await listening;
      expect(noted).toEqual([]);
    });
  });
  return heard;
}

it(
  'what is addressed to somebody, or answers them, is announced, and nothing else',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const question = await host.send('worker', 'a question', '--from', 'anna');
    const heard = await listen(host, 'anna');
    await host.send('worker', 'my own', '--from', 'anna');
    await host.send('bob', 'not for her', '--from', 'worker');
    const answer = `---\nfrom: worker\nto: bob\ntype: text\ntimestamp: 2026-06-09T19:00:00.000Z\nre: ${question}\n---\n\nto another, but about hers\n`;
    const path = messageFile(host.channel(), '2026/06/09/190000000Z-1f2e3d4c.md');
    host.edit({ [path]: answer });
    await host.run('sync');
    await until('the answer', () => heard.includes('worker: to another, but about hers'));
    await host.send('anna@front,bob', 'to her on a host', '--from', 'worker');
    await until('what is addressed to her', () => heard.length > 1);
    expect(heard).toEqual(['worker: to another, but about hers', 'worker: to her on a host']);
  },
);

it('a remote that was away for a while costs no announcement', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const other = await bus.host('back', { tester: 'true' });
  const heard = await listen(host, 'anna');
  await host.pointTo(join(bus.root, 'gone.git'));
  await other.send('anna', 'while it was away', '--from', 'tester');
  await host.run('sync');
  expect(heard).toEqual([]);
  await host.pointTo(bus.hub);
  await until('what came meanwhile', () => heard.length > 0);
  expect(heard).toEqual(['tester: while it was away']);
});

it('an operator’s session is never one of an actor, whatever it is started from', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  await host.run('sync');
  const seen = join(bus.root, 'seen');
  const named = async (env: NodeJS.ProcessEnv): Promise<Record<string, string>> => {
    const ran = await host.runWith({ env }, 'attach', '--agent', `env > ${seen}`);
    expect(ran.code).toBe(0);
    const pairs = readFileSync(seen, 'utf8').matchAll(/^(CROSSTALK_(?:DISPATCH_\w+|FROM))=(.*)$/gm);
    return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, value]));
  };
  expect(
    await named({
      CROSSTALK_DISPATCH_ACTOR: 'worker',
      CROSSTALK_DISPATCH_RE: 'x',
      CROSSTALK_FROM: 'x',
    }),
  ).toEqual({});
  expect(await named({ CROSSTALK_FROM: 'worker' })).toEqual({});
  expect(await named({ CROSSTALK_FROM: 'anna' })).toEqual({ CROSSTALK_FROM: 'anna' });
});

it(
  'the agent CLI is the one of the option, the environment, the configuration, the PATH: the first that is named',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const bin = join(bus.root, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'opencode'), '#!/bin/sh\nexit 40\n', { mode: 0o755 });
    const PATH = `${bin}:${process.env['PATH'] ?? ''}`;
    const ended = async (env: NodeJS.ProcessEnv, ...options: string[]): Promise<number> =>
      (await host.runWith({ env: { PATH, ...env } }, 'attach', ...options)).code;
    expect(await ended({})).toBe(40);
    git(host.dir, 'config', 'crosstalk.agent', 'exit 41');
    expect(await ended({})).toBe(40);
    await host.accept();
    expect(await ended({})).toBe(41);
    expect(await ended({ CROSSTALK_AGENT: 'exit 42' })).toBe(42);
    expect(await ended({ CROSSTALK_AGENT: 'exit 42' }, '--agent', 'exit 43')).toBe(43);
    const none = await host.runWith({ env: { PATH } }, 'attach', '--agent', 'claude');
    expect([none.code, none.err]).toEqual([
      1,
      expect.stringContaining('cannot start "claude": no such program; name another'),
    ]);
    host.declare({ worker: 'claude' });
    await host.approve();
    const gone = await host.runWith({ env: { PATH } }, 'open', '--actor', 'worker');
    expect([gone.code, gone.err]).toEqual([
      1,
      expect.stringMatching(
        /cannot start "claude": .*; install it, or change the command with: crosstalk actor set worker --tier default cli=<command>\n$/,
      ),
    ]);
  },
);

it('a changed command is held for a session too', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'exit 50' });
  const open = (...options: string[]): ReturnType<Host['run']> =>
    host.run('open', '--host', 'front', '--actor', 'worker', ...options);
  await host.once();
  host.declare({ worker: { default: 'exit 51', new: 'exit 52' } });
  expect(await open()).toMatchObject({
    code: 50,
    err: expect.stringContaining('this is the approved one') as string,
  });
  expect(await open('--tier', 'new')).toMatchObject({
    code: 1,
    err: expect.stringContaining('is new and not approved on this machine: "exit 52"') as string,
  });
  await host.approve();
  expect((await open()).code).toBe(51);
});

it('what is piped goes through as it is', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const bin = new URL('../../bin/crosstalk.js', import.meta.url).pathname;
  const input = Buffer.from([0, 255, 27, 91, 10, 13]);
  const out = execFileSync(process.execPath, [bin, 'attach', '--agent', 'cat'], {
    cwd: host.dir,
    env: { ...process.env, ...host.env },
    input,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  expect(out).toEqual(input);
});
