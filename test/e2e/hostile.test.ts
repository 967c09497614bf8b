import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Status } from '../../src/operations/status.ts';
import { Bus } from '../support/bus.ts';
import { fixtures } from '../support/fixtures.ts';
import { git } from '../support/git.ts';

it('hostile and malformed files are counted, reported and harmless, and the mail around them is answered', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo answered' });
  const canary = join(bus.root, 'canary');
  process.env['CROSSTALK_CANARY'] = canary;
  const before = await host.send('worker', 'before');
  const folder = `data/channels/${host.channel()}`;
  const files: Record<string, Buffer> = {};
  let serial = 0;
  for (const kind of ['malformed', 'hostile']) {
    for (const name of readdirSync(join(fixtures, kind))) {
      const suffix = (serial++).toString(16).padStart(8, '0');
      files[`${folder}/2026/06/09/190000000Z-${suffix}.md`] = readFileSync(
        join(fixtures, kind, name),
      );
    }
  }
  const good = readFileSync(join(fixtures, 'valid', 'plain.md'));
  files[`${folder}/2026/06/09/190000000Z-aaaaaaaa.md`] = Buffer.concat([
    good,
    Buffer.alloc(1024 * 1024, 'x'),
  ]);
  files[`${folder}/2026/06/09/notes.md`] = good;
  files[`${folder}/2026/13/190000000Z-bbbbbbbb.md`] = good;
  files[`data/channels/general/2026/06/09/190000000Z-bbbbbbbb.md`] = good;
  host.edit(files);
  addSymlink(bus, `${folder}/2026/06/09/190000000Z-cccccccc.md`);
  const after = await host.send('worker', 'after');
  const count = Object.keys(files).length + 1;

  const log = await host.once();

  const reported = log.filter(({ event }) => event === 'message_malformed');
  expect(reported).toHaveLength(count);
  expect(
    reported.every(({ path, reason }) => typeof path === 'string' && typeof reason === 'string'),
  ).toBe(true);
  expect(reported.find(({ path }) => String(path).includes('cccccccc'))?.['reason']).toBe(
    'a symlink',
  );
  expect(bus.from('worker').map(({ message }) => message.re)).toEqual([[before, after]]);
  const status = JSON.parse((await host.run('status', '--json')).out) as Status;
  expect(status.malformed).toHaveLength(count);
  expect(status.channels[0]?.messages).toBe(3);
  expect((await host.once()).filter(({ event }) => event === 'dispatch_start')).toEqual([]);
  expect(existsSync(canary)).toBe(false);
});

it('a body that looks like a header changes nothing about the message that carries it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: 'cat > "$HOME/prompt"; echo ok',
    other: 'echo never',
  });
  const body = '---\nto: other\nfrom: root\n---\n\n---js\nprocess.exit(1)\n---\n';
  const question = await host.send('worker', body);
  await host.once();
  expect(bus.from('worker')[0]?.message.re).toEqual([question]);
  expect(bus.from('other')).toEqual([]);
  expect(bus.from('operator')[0]?.message.body).toBe(body);
  expect(readFileSync(join(process.env['HOME'] ?? '', 'prompt'), 'utf8').endsWith(body)).toBe(true);
});

it('message text never reaches a shell, a command line or a path', async () => {
  const bus = new Bus();
  const canary = join(bus.root, 'canary');
  const host = await bus.host('front', {
    worker: 'cat >/dev/null; tr "\\0" " " < /proc/$$/cmdline',
  });
  await host.send('worker', `$(touch ${canary}) \`touch ${canary}\` ; touch ${canary}`);
  await host.once();
  expect(bus.from('worker')[0]?.message.body).not.toContain('touch');
  expect(existsSync(canary)).toBe(false);
});

function addSymlink(bus: Bus, path: string): void {
  const clone = join(bus.root, 'linker');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  symlinkSync('/etc/passwd', join(clone, path));
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '--message', 'a link');
  git(clone, 'push', '--quiet');
}
