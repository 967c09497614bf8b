import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { answers, approve, builder, planned, proposals } from '../support/deciding.ts';
import { messagePath } from '../support/forged.ts';
import { billed, billedRuns, pass } from '../support/passes.ts';
import { recordIn } from '../support/sealed.ts';

// trust.md §7, Believing: whatever can be led to write a file into the state directory, but cannot read its key,
// decides nothing there.

/** Writes JSON as a program would that can only write. */
function plant(host: Host, name: string, value: unknown): void {
  const path = join(host.state, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value)}\n`);
}

/** The only item in a folder of the state, as it is and as a path. */
function onlyItem(host: Host, folder: string): { path: string; record: Record<string, unknown> } {
  const [name = '', ...more] = readdirSync(join(host.state, folder));
  expect(more).toEqual([]);
  const path = join(host.state, folder, name);
  return { path, record: recordIn(path) };
}

const decided = { relPath: 'x', from: 'anna', decision: 'approve', by: 'here', note: '' };

describe('a record that somebody could write into the state directory', () => {
  it('approves no plan, and is shown and kept', async () => {
    const bus = new Bus();
    const tower = await bus.host('tower', builder());
    await planned(tower);
    const { path, record } = onlyItem(tower, 'gates');
    writeFileSync(path, JSON.stringify({ ...record, decided }));
    await tower.once();
    await tower.once();
    expect(answers(bus)).toEqual([]);
    expect((await tower.run('status')).out).toContain(
      `${path}.broken could not be read, or was not written by this machine, and was set aside`,
    );
    expect(readFileSync(`${path}.broken`, 'utf8')).toContain('"by":"here"');
  });

  it(
    'is nobody’s decision where it was written for another record, or on another machine',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const tower = await bus.host('tower', builder());
      await planned(tower);
      const { path, record } = onlyItem(tower, 'gates');
      const other = await new Bus().host('other', builder());
      await planned(other);
      await approve(other, proposals(other.bus)[0]!);
      copyFileSync(join(other.state, 'decided.jsonl'), join(tower.state, 'decided.jsonl'));
      const id = String(record['id']);
      copyFileSync(path, path.replace(id, `${id.slice(0, -1)}0`));
      await tower.once();
      expect(answers(bus)).toEqual([]);
    },
  );

  it(
    'does not decide a second time when a genuine one is put back after its use',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const tower = await bus.host('tower', builder());
      const proposal = await planned(tower);
      const { path } = onlyItem(tower, 'gates');
      const kept = join(bus.root, 'kept');
      copyFileSync(path, kept);
      await approve(tower, proposal);
      await tower.once();
      await tower.once();
      expect(answers(bus)).toEqual(['done']);
      copyFileSync(kept, path);
      await tower.once();
      await tower.once();
      expect(answers(bus)).toEqual(['done']);
    },
  );

  it('lets no mail pass that waits for a budget', { tags: 'long' }, async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: { default: { cli: billed(), max_usd_per_day: '0.20' } },
    });
    for (const task of ['one', 'two']) {
      await host.send('worker', task);
      await pass(host);
    }
    expect(billedRuns(host)).toHaveLength(1);
    const until = new Date(Date.now() + 86_400_000).toISOString();
    plant(host, 'budget-passes.json', { worker: until, until: { worker: until } });
    await pass(host);
    expect(billedRuns(host)).toHaveLength(1);
    expect((await host.run('resume', '--for', 'worker')).code).toBe(0);
    await pass(host);
    expect(billedRuns(host)).toHaveLength(2);
  });

  it(
    'approves no command: everything waits, also by the approvals of another machine',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: 'echo mine' });
      const genuine = join(host.state, 'approvals.json');
      const evil = { worker: `touch ${bus.root}/owned; echo evil` };
      const twin = await bus.host('twin', evil);
      host.declare(evil);
      for (const planted of [
        JSON.stringify(recordIn(join(twin.state, 'approvals.json'))).replace('"twin"', '"front"'),
        readFileSync(genuine, 'utf8').replace('echo mine', evil.worker),
        JSON.stringify({ version: 1, hosts: { front: { worker: { default: evil.worker } } } }),
      ]) {
        writeFileSync(genuine, planted);
        await host.send('worker', 'hello');
        await host.once();
      }
      expect(existsSync(join(bus.root, 'owned'))).toBe(false);
      expect(bus.from('worker')).toEqual([]);
    },
  );

  it('pins no key, and no message is believed while it lies there', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const pin = {
      name: 'anna',
      key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEvil',
      fingerprint: 'SHA256:x',
    };
    plant(host, 'pins.json', {
      version: 1,
      pins: [{ ...pin, comment: '', at: '2026-01-01T00:00:00Z' }],
    });
    const listed = await host.run('key', 'list');
    expect(listed).toMatchObject({ code: 1, out: '' });
    expect(listed.err).toContain('pins.json cannot be read: this machine has not written it');
  });

  it.each([
    ['the outbox', 'outbox/01J0000000000000000000000A.json'],
    ['its entries with files', 'outbox/with-files/01J0000000000000000000000A.json'],
    ['what leaves together', 'outbox-together.json'],
  ])('says nothing in the operator’s name from %s', async (_place, name) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const [path, content] = messagePath(host.channel());
    const author = { name: 'operator', email: 'operator@front' };
    const commit = {
      at: new Date().toISOString(),
      author,
      subject: 'x',
      files: [{ path, content }],
    };
    const entry = { id: '01J0000000000000000000000A', commits: [commit] };
    plant(host, name, name.includes('together') ? [entry] : entry);
    await host.once();
    await host.run('sync');
    expect(bus.messages()).toEqual([]);
    expect(bus.from('worker')).toEqual([]);
  });

  it('ends no process and shows no run another folder', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    const victim = spawn('sleep', ['600'], { detached: true });
    const started = readFileSync(`/proc/${String(victim.pid)}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ')[19];
    const id = '01J0000000000000000000000A';
    plant(host, `runs/${id}.json`, {
      ...{ id, actor: 'worker', channel: host.channel(), messages: [], workdir: '/' },
      process: { pid: victim.pid, started },
    });
    await host.once();
    expect(victim.exitCode ?? victim.signalCode).toBe(null);
    process.kill(-victim.pid!, 'SIGKILL');
    expect(readdirSync(join(host.state, 'runs'))).toContain(`${id}.json.broken`);
  });
});

it('the key of the state is there before the first record, for its user alone', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  expect(statSync(join(host.state, 'state.key')).mode & 0o777).toBe(0o600);
  writeFileSync(join(host.state, 'state.key'), 'no key');
  const ran = await host.run('status');
  expect(ran.code).toBe(1);
  expect(ran.err).toContain(
    'state.key is no key, and without this key no record of this machine counts',
  );
});

it(
  'every name in a state directory that was used is one of those that belong to it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('tower', { ...builder(), worker: 'echo done' });
    const file = join(bus.root, 'file');
    writeFileSync(file, 'bytes');
    await planned(host);
    await host.send('worker', 'hello', '--attach', file);
    const running = host.start();
    await running.saw('dispatch_done');
    await running.stop();
    for (const argv of [
      ['memory', 'add', '--subject', 's', 'text'],
      ['search', 'hello'],
      ['schedule', 'add', 'daily', '--to', 'worker', '--every', '1h', 'go'],
      ['secret', 'set', 'token', '--file', file],
      ['pause'],
      ['doctor'],
      ['open', '--actor', 'worker'],
    ])
      await host.run(...argv);
    await host.once();
    execFileSync('chmod', ['-R', 'go+rX', host.state]);
    await host.run('status');
    // Only a folder that holds nothing else is closed.
    expect([readdirSync(host.state), statSync(host.state).mode & 0o777]).toEqual([
      expect.any(Array),
      0o700,
    ]);
  },
);
