import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { OnTerminal } from '../support/pty.ts';

const SILENT = 'cat > /dev/null';
/** Lines of a message that is longer than the screen of the tests. */
const LONG = Array.from({ length: 60 }, (_, at) => `line ${String(at)}`).join('\n');

async function setUp(): Promise<{ host: Host; read: string }> {
  const host = await new Bus().host('front', { worker: SILENT });
  return { host, read: await host.send('worker', LONG) };
}

/** A pager that says so, and shows what it was given. */
function pager(host: Host): string {
  const path = join(host.bus.root, 'pager');
  writeFileSync(path, '#!/bin/sh\necho "<<$1"\nbase64 -w 0 < "$2"; echo ">>"\n', { mode: 0o755 });
  return `${path} paged`;
}

/** What the pager of {@link pager} was given; undefined when it was not called. */
function shown({ text }: OnTerminal): string | undefined {
  const [, encoded] = /<<paged\s+(\S+)>>/.exec(text) ?? [];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
}

it('what is longer than the screen is shown with the pager, whole', { tags: 'long' }, async () => {
  const { host, read } = await setUp();
  const at = { dir: host.dir, env: { ...host.env, PAGER: pager(host), NO_COLOR: '1' } };
  const long = await OnTerminal.start(at, 'read', read);
  expect(await long.ended).toBe(0);
  expect(shown(long)).toContain(LONG);
  for (const argv of [
    ['channel', 'list'],
    ['read', read, '--json'],
  ]) {
    const plain = await OnTerminal.start(at, ...argv);
    expect(await plain.ended).toBe(0);
    expect([shown(plain), plain.text]).toEqual([undefined, expect.stringContaining('general')]);
  }
});

it('what somebody wrote controls no terminal through a pager either', async () => {
  const { host } = await setUp();
  const read = await host.send('worker', `${LONG}\n\x1b]0;title\x07\x1b[2J\x1b]8;;http://x\x07end`);
  const at = { dir: host.dir, env: { ...host.env, PAGER: pager(host), NO_COLOR: '1' } };
  const session = await OnTerminal.start(at, 'read', read);
  expect(await session.ended).toBe(0);
  expect(shown(session)).toContain('end');
  for (const control of ['\x1b', '\x07']) expect(shown(session)).not.toContain(control);
});

it.each(['', 'cat', '/no/such/pager'])(
  'with PAGER=%j everything is written at once',
  { tags: 'long' },
  async (set) => {
    const { host, read } = await setUp();
    const at = { dir: host.dir, env: { ...host.env, PAGER: set } };
    const session = await OnTerminal.start(at, 'read', read);
    expect(await session.ended).toBe(0);
    expect(session.text).toContain(LONG.replaceAll('\n', '\r\n'));
  },
);

it('a dumb terminal gets neither colours nor a pager', async () => {
  const { host } = await setUp();
  const read = await host.send('worker', `# Lines\n\n${LONG}`);
  const at = {
    dir: host.dir,
    env: { ...host.env, PAGER: pager(host), NO_COLOR: '', TERM: 'dumb' },
  };
  const session = await OnTerminal.start(at, 'read', read);
  expect(await session.ended).toBe(0);
  expect(shown(session)).toBeUndefined();
  expect(session.text).toContain('line 59');
  expect(session.text).not.toContain('\x1b[');
});

it('a command that fails shows what it has and its error, without a pager', async () => {
  const { host } = await setUp();
  const at = { dir: host.dir, env: { ...host.env, PAGER: pager(host) } };
  const session = await OnTerminal.start(at, 'read', '0000');
  expect(await session.ended).toBe(1);
  expect([shown(session), session.text]).toEqual([
    undefined,
    expect.stringContaining('no message "0000"'),
  ]);
});

it('Ctrl-C on a dispatcher says what it waits for', { tags: 'long' }, async () => {
  const host = await new Bus().host('front', {
    worker: { quick: { cli: 'cat > /dev/null; exec sleep 600', count: 2 } },
  });
  for (const from of ['anna', 'bea']) await host.send('worker', 'work', '--from', from);
  const argv = ['dispatch', '--host', 'front', '--grace', '600'];
  const session = await OnTerminal.start({ dir: host.dir, env: host.env }, ...argv);
  await session.wrote('worker runs (quick) on 1 message(s)\r\n');
  await expect.poll(() => session.text.match(/worker runs/g)?.length, { timeout: 200_000 }).toBe(2);
  session.pty.write(Buffer.from('\x03'));
  await session.wrote(
    'stops; 2 of worker (quick) may finish within 600 s, and what is ended then runs again at the next start; Ctrl-C again ends it now',
  );
  session.pty.write(Buffer.from('\x03'));
  expect(await session.ended).toBe(130);
});
