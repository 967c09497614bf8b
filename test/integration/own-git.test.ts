import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { besideIdle } from '../support/stderr.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { sample } from '../support/form.ts';

/** Every file that our own git directory contains once messages have gone both ways. */
const FILES = [
  'HEAD',
  'checkout.json',
  'config',
  'info/attributes',
  'info/sparse-checkout',
  'logs/refs/remotes/origin/main',
  'refs/remotes/origin/main',
];

/** What a power failure or a full disk may leave of a file. */
const DAMAGES: Record<string, (whole: Buffer) => Buffer | string> = {
  'has lost its content': () => '',
  'is full of zeros': (whole) => Buffer.alloc(whole.length),
  'has lost its end': (whole) => whole.subarray(0, Math.floor(whole.length / 2)),
  'holds something else': () => 'something\nelse [\n',
  'names what is not here': () => `${'12'.repeat(20)}\n`,
};

async function machine(bus: Bus): Promise<Host> {
  const host = await bus.host('here', { worker: 'echo done' });
  await host.send('worker', 'first');
  await host.once();
  return host;
}

it('the files of our own git directory are the ones that are damaged below', async () => {
  const host = await machine(new Bus());
  const folder = join(host.state, 'git');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    // A lock is the kernel's, and there is nothing in its file.
    .filter((name) => statSync(join(folder, name)).isFile() && !name.endsWith('.lock.db'))
    .sort();
  expect(files).toEqual(FILES);
});

it.each(sample(FILES))(
  'whatever a power failure leaves of <state>/git/%s, the next command puts it right, and nothing is lost',
  { tags: 'sampled' },
  async (name) => {
    const bus = new Bus();
    const host = await machine(bus);
    const path = join(host.state, 'git', name);
    const bodies = ['first'];
    const whole = readFileSync(path);
    // Another clone has pushed meanwhile.
    host.edit({ 'data/memories/note.md': 'news\n' });
    for (const [what, damage] of Object.entries(DAMAGES)) {
      const harm = (): void => {
        expect(existsSync(path)).toBe(true);
        writeFileSync(path, damage(readFileSync(path)));
      };
      harm();
      const synced = await host.run('sync');
      expect([what, synced.code, synced.err]).toEqual([what, 0, '']);

      harm();
      const sent = await host.run('send', '--to', 'worker', '--new', '--', what);
      expect([what, besideIdle(sent.err), sent.out]).toEqual([
        what,
        '',
        expect.stringMatching(/^Sent: /),
      ]);
      bodies.push(what);

      harm();
      const events = await host.once();
      expect([what, events.filter(({ event }) => event === 'dispatch_done')]).toEqual([
        what,
        [expect.objectContaining({ replied: true })],
      ]);
    }
    if (/^(config|info\/attributes)$/.test(name)) expect(readFileSync(path)).toEqual(whole);
    const stored = bus.messages().map(({ message }) => message);
    const said = (from: string): string[] =>
      stored.filter((one) => one.from === from).map(({ body }) => body.trim());
    expect(said('operator').sort()).toEqual(bodies.sort());
    expect(said('worker')).toEqual(bodies.map(() => 'done'));
  },
);

it('a remote’s password that was lost from our own git directory is written there again', async () => {
  const host = await new Bus().host('here', { worker: 'echo done' });
  const credentials = join(host.state, 'git', 'credentials');
  const url = 'http://somebody:secret@127.0.0.1:1/team.git';
  git(host.dir, 'remote', 'set-url', 'origin', url);
  const held = JSON.parse((await host.run('host', 'show', '--json')).out) as {
    held: { digest: string }[];
  };
  await host.run('host', 'approve', ...held.held.map(({ digest }) => digest));
  const whole = readFileSync(credentials, 'utf8');
  expect(whole).toContain('secret');
  writeFileSync(credentials, '');
  await host.run('status');
  expect(readFileSync(credentials, 'utf8')).toBe(whole);
});

it(
  'what was fetched while a push was ending is not set back to what was pushed',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await machine(bus);
    const own = join(host.state, 'git');
    // The remote accepts the push and then somebody else's commit, and another process of this clone
    // fetches both before the push learns that it succeeded.
    const hook = join(bus.hub, 'hooks', 'post-receive');
    const script = [
      '#!/bin/sh',
      'set -e',
      'export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x',
      'unset GIT_QUARANTINE_PATH',
      'next=$(echo on top | git commit-tree "main^{tree}" -p main)',
      'git update-ref refs/heads/main "$next"',
      `export GIT_OBJECT_DIRECTORY='${join(host.dir, '.git', 'objects')}'`,
      `git --git-dir='${own}' fetch --quiet '${bus.hub}' +refs/heads/main:refs/remotes/origin/main`,
    ];
    writeFileSync(hook, `${script.join('\n')}\n`, { mode: 0o755 });
    const sent = await host.run('send', '--to', 'worker', '--', 'pushed');
    expect(sent.code).toBe(0);
    expect(sent.err).toMatch(/^(crosstalk send: no dispatcher is running here.*\n)?$/);
    const tip = git(bus.hub, 'rev-parse', 'main');
    expect(git(bus.hub, 'log', '-1', '--format=%s', 'main')).toBe('on top\n');
    expect(readFileSync(join(own, 'refs/remotes/origin/main'), 'utf8')).toBe(tip);
  },
);

it('what a killed process was writing into our git directory is swept at the next start', async () => {
  const host = await new Bus().host('front', { worker: 'true' });
  const dead = spawnSync('true');
  const left = join(host.state, 'git', 'info', `sparse-checkout.${String(dead.pid)}.1.tmp`);
  writeFileSync(left, 'half');
  await host.once();
  expect(existsSync(left)).toBe(false);
});
