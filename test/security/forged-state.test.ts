import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Outbox, type OutboxEntry } from '../../src/state/outbox.ts';
import { Bus, type Host } from '../support/bus.ts';
import { answers, approve, builder, planned, proposals } from '../support/deciding.ts';
import { messagePath } from '../support/forged.ts';
import { billed, billedRuns, pass } from '../support/passes.ts';
import { linesIn, plantLine, plantRow, putRow, rowsIn, textIn } from '../support/rows.ts';
import { recordIn } from '../support/sealed.ts';

// trust.md §7, Believing: whatever can be led to write a file into the state directory, but cannot read its key,
// decides nothing there.

/** Writes JSON as a program would that can only write. */
function plant(host: Host, name: string, value: unknown): void {
  const path = join(host.state, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value)}\n`);
}

/**
 * Puts another database in the place of a machine's, as a program would that can only write: it was made in
 * another state directory, so that its rows are sealed by another key.
 *
 * @param make makes it in a folder that holds a copy of the database of the machine, if that has one
 */
async function plantDatabase(
  host: Host,
  make: (root: string) => Promise<void> | void,
): Promise<void> {
  const elsewhere = join(host.bus.root, 'elsewhere');
  const files = (folder: string): string => `'${folder}'/state.db*`;
  const copy = (from: string, to: string): string => `cp ${files(from)} '${to}'`;
  mkdirSync(elsewhere);
  const there = existsSync(join(host.state, 'state.db'));
  // By another process: one that closes a file of SQLite loses its locks.
  if (there) execFileSync('sh', ['-c', copy(host.state, elsewhere)]);
  await make(elsewhere);
  execFileSync('sh', ['-c', `rm -f ${files(host.state)}; ${copy(elsewhere, host.state)}`]);
}

/** The only gate of a machine. */
function onlyGate(host: Host): { id: string; text: string; record: Record<string, unknown> } {
  const [record = {}, ...more] = rowsIn(host.state, 'gate');
  expect(more).toEqual([]);
  const id = String(record['id']);
  const text = textIn(host.state, 'gate', id);
  delete record['seal'];
  return { id, text, record };
}

const decided = { relPath: 'x', from: 'anna', decision: 'approve', by: 'here', note: '' };

describe('a record that somebody could write into the state', () => {
  it('approves no plan, and is shown and kept', async () => {
    const bus = new Bus();
    const tower = await bus.host('tower', builder());
    await planned(tower);
    const { id, record } = onlyGate(tower);
    plantRow(tower.state, 'gate', id, JSON.stringify({ ...record, decided }));
    await tower.once();
    await tower.once();
    expect(answers(bus)).toEqual([]);
    const path = join(tower.state, `state.db.gate.${id}.broken`);
    expect((await tower.run('status')).out).toContain(
      `${path} could not be read, or was not written by this machine, and was set aside`,
    );
    expect(readFileSync(path, 'utf8')).toContain('"by":"here"');
  });

  it(
    'is nobody’s decision where it was written for another record, or on another machine',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const tower = await bus.host('tower', builder());
      await planned(tower);
      const { id, text, record } = onlyGate(tower);
      const other = await new Bus().host('other', builder());
      await planned(other);
      await approve(other, proposals(other.bus)[0]!);
      const lines = linesIn(other.state, 'decided');
      expect(lines).toHaveLength(1);
      for (const line of lines) plantLine(tower.state, 'decided', line);
      plantRow(tower.state, 'gate', `${id.slice(0, -1)}0`, text);
      await tower.once();
      expect(answers(bus)).toEqual([]);
      await plantDatabase(tower, (root) => {
        putRow(root, 'gate', { ...record, id, decided });
      });
      await tower.once();
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
      const { id, text } = onlyGate(tower);
      await approve(tower, proposal);
      await tower.once();
      await tower.once();
      expect(answers(bus)).toEqual(['done']);
      expect(rowsIn(tower.state, 'gate')).toEqual([]);
      plantRow(tower.state, 'gate', id, text);
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
    plantRow(host.state, 'budget-pass', 'worker', JSON.stringify({ id: 'worker', until }));
    await pass(host);
    expect(billedRuns(host)).toHaveLength(1);
    await plantDatabase(host, (root) => {
      putRow(root, 'budget-pass', { id: 'worker', until });
    });
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

  const row =
    (kind: string) =>
    (host: Host, entry: OutboxEntry): Promise<void> => {
      plantRow(host.state, kind, entry.id, JSON.stringify(entry));
      return Promise.resolve();
    };
  it.each([
    ['the outbox', row('outbox')],
    ['what is held', row('outbox-held')],
    ['what was set aside', row('outbox-aside')],
    [
      'a database that was made elsewhere',
      (host: Host, entry: OutboxEntry) =>
        plantDatabase(host, async (root) => {
          const outbox = new Outbox(root);
          await outbox.put(entry);
          await outbox.hold({ ...entry, id: `${entry.id.slice(0, -1)}B` }, [], entry.id);
          expect(await outbox.all()).toHaveLength(1);
        }),
    ],
    [
      'where earlier versions kept it',
      (host: Host, entry: OutboxEntry) => {
        plant(host, `outbox/${entry.id}.json`, entry);
        plant(host, `outbox/with-files/${entry.id}.json`, entry);
        plant(host, 'outbox-together.json', [entry]);
        return Promise.resolve();
      },
    ],
  ])('says nothing in the operator’s name from %s', async (_place, put) => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    await host.once();
    const [path, content] = messagePath(host.channel());
    const author = { name: 'operator', email: 'operator@front' };
    const commit = {
      at: new Date().toISOString(),
      author,
      subject: 'x',
      files: [{ path, content }],
    };
    await put(host, { id: '01J0000000000000000000000A', commits: [commit] });
    await host.once();
    await host.run('sync');
    await host.run('outbox', '--allow-secret', 'all');
    expect(bus.messages()).toEqual([]);
    expect(bus.from('worker')).toEqual([]);
  });

  it('ends no process and shows no run another folder', async () => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await host.once();
    const victim = spawn('sleep', ['600'], { detached: true });
    const started = readFileSync(`/proc/${String(victim.pid)}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ')[19];
    const id = '01J0000000000000000000000A';
    const run = {
      ...{ id, actor: 'worker', channel: host.channel(), messages: [], workdir: '/' },
      process: { pid: victim.pid, started },
    };
    const kinds = ['run', 'kept-process'];
    for (const kind of kinds) plantRow(host.state, kind, id, JSON.stringify(run));
    await host.once();
    for (const kind of kinds)
      expect(readdirSync(host.state)).toContain(`state.db.${kind}.${id}.broken`);
    await plantDatabase(host, (root) => {
      for (const kind of kinds) putRow(root, kind, run);
    });
    await host.once();
    for (const kind of kinds) expect(rowsIn(host.state, kind)).toEqual([]);
    expect(victim.exitCode ?? victim.signalCode).toBe(null);
    process.kill(-victim.pid!, 'SIGKILL');
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
