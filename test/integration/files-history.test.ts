import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { attachedPath } from '../../src/protocol/layout.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { setBack, tipOf } from '../support/history.ts';

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function attach(bus: Bus, name: string, bytes: Buffer): string[] {
  writeFileSync(join(bus.root, name), bytes);
  return ['--attach', join(bus.root, name)];
}

function onHub(bus: Bus): string[] {
  return git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/files/')
    .split('\n')
    .slice(0, -1);
}

async function taken(host: Host, relPath: string, name: string): Promise<Buffer> {
  const out = join(host.bus.root, `out-${randomBytes(4).toString('hex')}`);
  const read = await host.run('read', relPath, '--files', out);
  if (read.code !== 0) throw new Error(read.err);
  return readFileSync(join(out, name));
}

it(
  'an archive takes files along that nothing names any more, and its return brings them back',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const [old, both] = [randomBytes(2000), randomBytes(3000)];
    const folder = `data/channels/${host.channel()}`;
    const past = '2025/01/01/120000000Z-00000001.md';
    const files = [old, both].map((bytes, at) => ({
      sha256: sha256(bytes),
      name: `f${String(at)}`,
      bytes: bytes.length,
      type: 'text/plain',
    }));
    const header = { from: 'a', to: 'b', type: 'text', timestamp: '2025-01-01T12:00:00Z', files };
    host.edit({
      [`${folder}/${past}`]: `---\n${JSON.stringify(header)}\n---\nold\n`,
      [attachedPath(sha256(old))]: old,
      [attachedPath(sha256(both))]: both,
    });
    await host.send('nobody', 'names it too', ...attach(bus, 'f1', both));
    const bundle = join(bus.root, 'old.bundle');
    const done = await host.run(
      'archive',
      '--before',
      '2025-06-01',
      '--bundle',
      bundle,
      '--yes',
      '--with-waiting',
    );
    expect(done.err).toBe('');
    expect(done.out).toContain('Archived: 1 message and 1 attached file before');
    expect(onHub(bus)).toEqual([attachedPath(sha256(both))]);
    const restored = await host.run('archive', '--restore', bundle);
    expect(restored.out).toBe('Restored: 1 message and 1 attached file\n');
    expect(onHub(bus)).toHaveLength(2);
    expect(await taken(host, past, 'f0')).toEqual(old);
  },
);

it('a message that is published again after the branch was set back brings its files again', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.once();
  const seen = tipOf(bus);
  const bytes = randomBytes(5000);
  const relPath = await host.send('nobody', 'one', ...attach(bus, 'a.bin', bytes));
  setBack(bus, seen);
  expect(onHub(bus)).toEqual([]);
  await host.send('nobody', 'two');
  await host.once();
  expect(onHub(bus)).toEqual([attachedPath(sha256(bytes))]);
  expect(await taken(host, relPath, 'a.bin')).toEqual(bytes);
});

it(
  'a partial clone fetches a file when it is asked for, and not before',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    git(bus.hub, 'config', 'uploadpack.allowFilter', 'true');
    git(bus.hub, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
    const host = await bus.host('front', {});
    const bytes = randomBytes(50_000);
    const relPath = await host.send('nobody', 'one', ...attach(bus, 'a.bin', bytes));
    const oid = git(bus.hub, 'rev-parse', `main:${attachedPath(sha256(bytes))}`).trim();
    const part = join(bus.root, 'part');
    git(
      bus.root,
      'clone',
      '--quiet',
      '--filter=blob:none',
      '--no-checkout',
      `file://${bus.hub}`,
      part,
    );
    const here = (): boolean =>
      git(part, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)').includes(oid);
    const env = { CROSSTALK_STATE_DIR: join(bus.root, 'part-state'), CROSSTALK_TRANSPORT: part };
    const doctor = await host.runWith({ env }, 'doctor');
    expect(doctor.out).toContain('1, which this partial clone fetches when they are read');
    await host.runWith({ env }, 'read', relPath);
    expect(here()).toBe(false);
    const out = join(bus.root, 'out');
    expect(await host.runWith({ env }, 'read', relPath, '--files', out)).toMatchObject({ code: 0 });
    expect(readFileSync(join(out, 'a.bin'))).toEqual(bytes);
    expect(here()).toBe(true);
  },
);

it('doctor says what attached files weigh', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  expect((await host.run('doctor')).out).toMatch(/attached files: none/);
  await host.send('nobody', 'one', ...attach(bus, 'a.bin', randomBytes(3 * 1024)));
  expect((await host.run('doctor')).out).toMatch(/attached files: 1, 3\.0 KiB/);
});
