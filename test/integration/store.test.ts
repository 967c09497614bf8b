import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { RunBudget } from '../../src/state/run-budget.ts';
import { Rows } from '../../src/store/rows.ts';
import { Store } from '../../src/store/store.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { plantRow, putRow, rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

interface Ran {
  code: number | string | null;
  out: string;
  err: string;
}

/** A command in a process of its own, so that nobody has its machine's database open afterwards. */
async function run(host: Host, ...argv: string[]): Promise<Ran> {
  const program = new Program(host, ...argv);
  return { code: await program.ended(), out: program.out, err: program.err };
}

/** A machine whose database has something in it, and is open in no process. */
async function machine(): Promise<{ bus: Bus; host: Host; path: string }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  expect((await run(host, 'pause')).code).toBe(0);
  expect((await run(host, 'resume')).code).toBe(0);
  return { bus, host, path: join(host.state, 'state.db') };
}

/** Takes the database away, with the files that SQLite has beside it. */
function takeAway(path: string): void {
  for (const part of ['', '-wal', '-shm']) rmSync(`${path}${part}`, { force: true });
}

const BROKEN = /^state\.db\.\d{17}\.broken$/;

/** Mail goes on, and status names what was set aside; returns its path. */
async function goesOn(bus: Bus, host: Host): Promise<string> {
  const question = await run(host, 'send', '--to', 'worker', 'hello');
  expect(question, question.err).toMatchObject({ code: 0 });
  expect(await run(host, 'dispatch', '--once', '--host', 'front')).toMatchObject({ code: 0 });
  const answers = bus.from('worker').map(({ message }) => message.body);
  expect(answers).toEqual(['done\n']);
  const aside = readdirSync(host.state).filter((name) => BROKEN.test(name));
  expect(aside).toHaveLength(1);
  const kept = join(host.state, aside[0] ?? '');
  expect((await run(host, 'status')).out).toContain(
    `${kept} could not be read, or was not written by this machine, and was set aside`,
  );
  return kept;
}

describe('what is in the place of the database and is none', () => {
  it('a damaged one is set aside, and said, and mail goes on', async () => {
    const { bus, host, path } = await machine();
    takeAway(path);
    writeFileSync(path, 'no database, '.repeat(1000));
    const kept = await goesOn(bus, host);
    expect(readFileSync(kept, 'utf8')).toContain('no database');
  });

  it('one of which a part was overwritten while a dispatcher was killed is set aside with its log', async () => {
    const { bus, host, path } = await machine();
    const dispatcher = new Program(host, 'dispatch', '--host', 'front', '--interval', '0.2');
    await dispatcher.saw('tick');
    await until('its log', () => existsSync(`${path}-wal`));
    await dispatcher.stop('SIGKILL');
    for (const part of [path, `${path}-wal`])
      execFileSync('dd', ['if=/dev/urandom', `of=${part}`, 'bs=1k', 'count=16'], {
        stdio: 'ignore',
      });
    await goesOn(bus, host);
  });

  it.each([0, 2048])(
    'one that was cut off to %d bytes is set aside with its log',
    async (bytes) => {
      const { bus, host, path } = await machine();
      truncateSync(path, bytes);
      // What a kill leaves.
      writeFileSync(`${path}-wal`, 'a log, '.repeat(1000));
      const kept = await goesOn(bus, host);
      expect(readFileSync(kept.replace('.broken', '-wal.broken'), 'utf8')).toContain('a log');
    },
  );

  it('one of which a table was overwritten is set aside', async () => {
    const { bus, host, path } = await machine();
    const open = new DatabaseSync(path);
    open.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const select = "SELECT rootpage FROM sqlite_master WHERE name = 'lines_of'";
    const { rootpage } = open.prepare(select).get() as { rootpage: number };
    open.close();
    writeFileSync(path, readFileSync(path).fill(255, 4096 * (rootpage - 1), 4096 * rootpage));
    await goesOn(bus, host);
  });

  it('a folder is set aside with what is in it', async () => {
    const { bus, host, path } = await machine();
    takeAway(path);
    mkdirSync(path);
    writeFileSync(join(path, 'mine'), 'kept');
    const kept = await goesOn(bus, host);
    expect(readFileSync(join(kept, 'mine'), 'utf8')).toBe('kept');
  });

  it('a symlink is not followed: nothing is written through it', async () => {
    const { bus, host, path } = await machine();
    takeAway(path);
    const elsewhere = join(bus.root, 'elsewhere');
    symlinkSync(elsewhere, path);
    await goesOn(bus, host);
    expect(existsSync(elsewhere)).toBe(false);
  });
});

it('one that a newer version has written is refused in one line, and not touched', async () => {
  const { host, path } = await machine();
  const newer = new DatabaseSync(path);
  newer.exec('PRAGMA user_version = 99; CREATE TABLE later (id TEXT)');
  newer.close();
  const digest = (): string => execFileSync('sha256sum', [path], { encoding: 'utf8' });
  const before = digest();
  for (const argv of [['status'], ['pause'], ['send', '--to', 'worker', 'hello']]) {
    const ran = await run(host, ...argv);
    expect([argv[0], ran.code, ran.out]).toEqual([argv[0], 1, '']);
    expect(ran.err.trimEnd()).toBe(
      `crosstalk ${argv[0] ?? ''}: ${path} was written by a newer crosstalk (its form is 99, this one knows 3), and was not touched: install that version again`,
    );
  }
  expect(digest()).toBe(before);
  expect(readdirSync(host.state).filter((name) => name.endsWith('.broken'))).toEqual([]);
});

describe('fifty commands at once', { tags: 'long' }, () => {
  it.each(['beside one dispatcher', 'beside none'])('all send, each once, %s', async (beside) => {
    const { bus, host } = await machine();
    const dispatcher =
      beside === 'beside none' ? undefined : new Program(host, 'dispatch', '--host', 'front');
    await dispatcher?.saw('host_file_loaded');
    const wanted = Array.from({ length: 50 }, (_, n) => `number ${String(n)}`);
    const sent = await Promise.all(
      wanted.map((text) => run(host, 'send', '--to', 'nobody', '--anyway', text)),
    );
    for (const { code, out, err } of sent) {
      expect([code, /^(?:Sent|Queued): /.test(out)], err).toEqual([0, true]);
    }
    expect((await run(host, 'sync')).code).toBe(0);
    const bodies = bus.messages().map(({ message }) => message.body.trim());
    expect(bodies.sort()).toEqual(wanted.sort());
    expect(rowsIn(host.state, 'outbox')).toEqual([]);
    await dispatcher?.stop('SIGTERM');
  });
});

it('of what two processes write at once nothing is lost', async () => {
  const { host } = await machine();
  const pairs = Array.from({ length: 10 }, (_, n) => [`a${String(n)}`, `b${String(n)}`]);
  const held = pairs.flat().map((actor) => ({
    ...{ actor, tier: 'default', channel: 'c', message: 'm', reason: 'budget', said: 'spent' },
    ...{ since: '2026-06-09T19:00:00.000Z', until: '2099-01-01T00:00:00.000Z' },
  }));
  putRow(host.state, 'budget-holds', { id: '', is: { held, told: {}, passed: {} } });
  for (const pair of pairs) {
    const both = await Promise.all(pair.map((actor) => run(host, 'resume', '--for', actor)));
    for (const { code, err } of both) expect(code, err).toBe(0);
  }
  const passes = rowsIn(host.state, 'budget-pass').map(({ id }) => id);
  expect(passes).toEqual(pairs.flat().sort());
});

it('who changes what another process is changing waits for it, and builds on what it has written', async () => {
  const root = scratch();
  const budget = new RunBudget(root);
  await budget.note('worker', 'default', 1000);
  const other = new DatabaseSync(join(root, 'state.db'));
  other.exec('BEGIN IMMEDIATE');
  const noted = budget.note('worker', 'default', 2000);
  await sleep(200);
  other.exec(`INSERT INTO item (kind, id, value) VALUES ('other', 'x', '{}')`);
  other.exec('COMMIT');
  other.close();
  await noted;
  expect(rowsIn(root, 'run-start')).toMatchObject([{ starts: [1000, 2000] }]);
  expect(rowsIn(root, 'other')).toHaveLength(1);
});

it('a change that another process has made is noticed once, and one of our own never', async () => {
  const root = scratch();
  const store = Store.at(root);
  expect(await store.isChanged()).toBe(false);
  await store.write(() => undefined);
  expect(await store.isChanged()).toBe(false);
  await new Rows<{ id: string }>(root, 'kind').put({ id: 'ours' });
  expect(await store.isChanged()).toBe(false);
  const change = `const { DatabaseSync } = require('@photostructure/sqlite');
    new DatabaseSync(process.argv[1]).exec("DELETE FROM item");`;
  execFileSync(process.execPath, ['-e', change, store.path]);
  await new Rows<{ id: string }>(root, 'kind').put({ id: 'ours again' });
  expect([await store.isChanged(), await store.isChanged()]).toEqual([true, false]);
});

it('a row that this machine has not sealed is kept in a file with its content, and nothing else is affected', async () => {
  const { bus, host } = await machine();
  const at = '2026-06-09T19:00:00.000Z';
  const letter = (id: string) => ({
    ...{ id, state: 'quarantined', actor: 'worker', channel: 'c', messages: ['m'] },
    ...{ tier: 'default', command: 'x', reason: 'exit_code', detail: '', exit_code: 1 },
    ...{ signal: null, stderr_tail: '', attempts: 1, attempts_since_release: 1 },
    ...{ first_failed_at: at, last_failed_at: at },
  });
  const [ours, forged] = ['01J0000000000000000000000A', '01J0000000000000000000000B'] as const;
  putRow(host.state, 'dead-letter', letter(ours));
  const planted = JSON.stringify({ ...letter(forged), seal: 'a'.repeat(43) });
  plantRow(host.state, 'dead-letter', forged, planted);

  const letters = JSON.parse((await run(host, 'dlq', '--json')).out) as { id: string }[];
  expect(letters.map(({ id }) => id)).toEqual([ours]);
  const kept = join(host.state, `state.db.dead-letter.${forged}.broken`);
  expect(readFileSync(kept, 'utf8')).toBe(planted);
  expect(rowsIn(host.state, 'dead-letter').map(({ id }) => id)).toEqual([ours]);
  expect((await run(host, 'status')).out).toContain(`${kept} could not be read`);
  await run(host, 'send', '--to', 'worker', 'hello');
  expect((await run(host, 'dispatch', '--once', '--host', 'front')).code).toBe(0);
  expect(bus.from('worker')).toHaveLength(1);
});

it('a database that is removed or replaced while a process has it open is noticed', async () => {
  const [root, another] = [scratch(), scratch()];
  const path = join(root, 'state.db');
  const rows = new Rows<{ id: string }>(root, 'dead-letter');
  await rows.put({ id: 'A' });
  takeAway(path);
  expect(await rows.all()).toEqual([]);
  expect(existsSync(path)).toBe(false);
  await rows.put({ id: 'B' });
  expect(rowsIn(root, 'dead-letter')).toMatchObject([{ id: 'B' }]);

  // Of another machine, by which nothing counts here.
  await new Rows<{ id: string }>(another, 'dead-letter').put({ id: 'C' });
  takeAway(path);
  const copied = ['', '-wal'].map((part) => join(another, `state.db${part}`));
  execFileSync('cp', [...copied, root]);
  expect(await rows.all()).toEqual([]);
  expect(existsSync(`${path}.dead-letter.C.broken`)).toBe(true);
  await rows.put({ id: 'D' });
  expect(await rows.ids()).toEqual(['D']);
});

describe('what another program puts beside the database', () => {
  it('a row that is set aside goes through no symlink, and waits for no named pipe', async () => {
    const { bus, host, path } = await machine();
    const victim = join(bus.root, 'victim');
    writeFileSync(victim, 'precious');
    symlinkSync(victim, `${path}.outbox.01A.broken`);
    execFileSync('mkfifo', [`${path}.outbox.01B.broken`]);
    const database = new DatabaseSync(path);
    for (const id of ['01A', '01B', 'A'.repeat(400)])
      database.exec(`INSERT INTO item VALUES ('outbox', '${id}', 'planted')`);
    database.close();
    expect(await run(host, 'dispatch', '--once', '--host', 'front')).toMatchObject({ code: 0 });
    expect(readFileSync(victim, 'utf8')).toBe('precious');
    expect(readdirSync(host.state).filter((name) => name.endsWith('.broken'))).toHaveLength(5);
  });

  it.each(['state.db-wal', 'state.db-shm', 'writer.lock.db', 'dispatcher.lock.db'])(
    'a symlink in the place of %s is refused, and what it leads to stays as it is',
    async (name) => {
      const { bus, host } = await machine();
      const victim = join(bus.root, 'victim');
      writeFileSync(victim, 'precious', { mode: 0o644 });
      chmodSync(victim, 0o644);
      rmSync(join(host.state, name), { force: true });
      symlinkSync(victim, join(host.state, name));
      const sent = await run(host, 'send', '--to', 'worker', 'hello');
      const served = await run(host, 'dispatch', '--once', '--host', 'front');
      expect(served.code).toBe(1);
      expect(sent.err + served.err).toContain(`${name} is no plain file`);
      expect(statSync(victim).mode & 0o777).toBe(0o644);
      expect(readFileSync(victim, 'utf8')).toBe('precious');
    },
  );

  it('lines that are none of ours stop nothing', async () => {
    const { host, path } = await machine();
    const database = new DatabaseSync(path);
    for (const value of ['no json', 'null', '{"incomplete":5}'])
      database.exec(`INSERT INTO line (kind, value) VALUES ('incomplete', '${value}')`);
    database.close();
    expect((await run(host, 'send', '--to', 'worker', 'hello')).code).toBe(0);
    expect(await run(host, 'dispatch', '--once', '--host', 'front')).toMatchObject({ code: 0 });
  });

  it('a database of which a table was removed is set aside', async () => {
    const { bus, host, path } = await machine();
    const database = new DatabaseSync(path);
    database.exec('DROP TABLE item');
    database.close();
    await goesOn(bus, host);
  });
});
