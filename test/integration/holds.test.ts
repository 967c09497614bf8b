import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { InvocationResult } from '../../src/runner/runner.ts';
import { Refusals } from '../../src/dispatcher/run/refusals.ts';
import type { Job, JobResult } from '../../src/dispatcher/run/job.ts';
import { TIER_DEFAULTS } from '../../src/protocol/files/host-file.ts';
import { Holds } from '../../src/state/holds.ts';
import { statePaths } from '../../src/state/state-paths.ts';
import { scratch } from '../support/bus.ts';
import { plantRow } from '../support/rows.ts';

const RESULT: InvocationResult = {
  exitCode: 1,
  signal: null,
  stdout: '',
  stderrTail: '',
  timedOut: false,
  aborted: false,
  tooMuchOutput: false,
  duration: 1,
};
const SILENT: JobResult = { kind: 'silent', lacking: [], result: RESULT };
const LIMITED: JobResult = {
  kind: 'refused',
  refusal: { kind: 'rate_limited', said: 'no' },
  result: RESULT,
};
const LOGGED_OUT: JobResult = {
  kind: 'refused',
  refusal: { kind: 'not_logged_in', said: 'who?' },
  result: RESULT,
};
const MINUTE = 60_000;

/** Refusals on a machine whose clock the test controls. */
class Machine {
  readonly root = scratch();
  at = Date.parse('2026-11-21T14:00:00Z');
  refusals = this.restart();
  #jobs = 0;

  restart(): Refusals {
    const now = (): Date => new Date(this.at);
    const paths = statePaths(this.root);
    this.refusals = new Refusals({ paths, env: { HOME: this.root }, now, zone: 'UTC' });
    return this.refusals;
  }

  pass(minutes: number): void {
    this.at += minutes * MINUTE;
  }

  begin(cli = 'codex exec -'): Job {
    const tier = { ...TIER_DEFAULTS, name: 'default', cli };
    const job: Job = {
      id: String(this.#jobs++),
      actor: 'a',
      host: 'h',
      channel: 'c',
      tier,
      tiers: [tier],
      tip: '',
      messages: [],
      released: false,
      isRest: false,
      isDealt: false,
      cancel: new AbortController().signal,
    };
    this.refusals.begin(job);
    return job;
  }

  async end(job: Job, result: JobResult): Promise<void> {
    await this.refusals.learn(job, result);
    this.refusals.end(job);
  }

  async held(command = 'codex exec --json -'): Promise<string | undefined> {
    await this.refusals.look();
    return this.refusals.inTheWay(command)?.until;
  }
}

it('a hold without a stated time grows with each run that finds it in force, and ends with one that works', async () => {
  const machine = new Machine();
  await machine.end(machine.begin(), LIMITED);
  expect(machine.refusals.next()).toEqual(new Date('2026-11-21T14:01:00.000Z'));
  expect(await machine.held()).toBe('2026-11-21T14:01:00.000Z');
  expect(await machine.held('claude -p')).toBeUndefined();

  machine.pass(1);
  expect(await machine.held()).toBeUndefined();
  expect(machine.refusals.next()).toBeUndefined();
  await machine.end(machine.begin(), LIMITED);
  expect(await machine.held()).toBe('2026-11-21T14:03:00.000Z');

  machine.pass(2);
  expect(await machine.held()).toBeUndefined();
  await machine.end(machine.begin(), SILENT);
  expect(await machine.held()).toBeUndefined();
  await machine.end(machine.begin(), LIMITED);
  expect(await machine.held()).toBe('2026-11-21T14:04:00.000Z');
});

it('runs that are refused together count once', async () => {
  const machine = new Machine();
  const together = [machine.begin(), machine.begin(), machine.begin()];
  await Promise.all(together.map((job) => machine.end(job, LIMITED)));
  const [hold] = await new Holds(machine.root).all();
  expect(hold).toMatchObject({ id: 'codex', refusals: 1, until: '2026-11-21T14:01:00.000Z' });
});

it('accounts that are refused at the same time are all held', async () => {
  const machine = new Machine();
  const commands = ['claude -p', 'codex exec -', 'CODEX_HOME=/work codex exec -', 'pi -p'];
  const jobs = commands.map((command) => machine.begin(command));
  await Promise.all(jobs.map((job) => machine.end(job, LIMITED)));
  const ids = (await new Holds(machine.root).all()).map(({ id }) => id);
  expect(ids.sort()).toEqual(['claude', 'codex', 'codex at /work', 'pi']);
});

it('while one finds out all others wait, unless it has been at work for two minutes', async () => {
  const machine = new Machine();
  await machine.end(machine.begin(), LIMITED);
  machine.pass(5);
  expect(await machine.held()).toBeUndefined();
  const finding = machine.begin();
  expect(await machine.held()).toBeDefined();
  machine.pass(2);
  expect(await machine.held()).toBeUndefined();
  await machine.end(finding, { kind: 'stopped' });
  expect((await new Holds(machine.root).all()).length).toBe(1);
  await machine.end(machine.begin(), SILENT);
  expect(await new Holds(machine.root).all()).toEqual([]);
});

it('a run that was ended before its CLI said anything finds out nothing', async () => {
  const machine = new Machine();
  await machine.end(machine.begin(), LIMITED);
  machine.pass(1);
  await machine.held();
  await machine.end(machine.begin(), { kind: 'stopped' });
  await machine.end(machine.begin(), LIMITED);
  expect(await machine.held()).toBe('2026-11-21T14:03:00.000Z');
});

it('a login ends a hold when one of its files is another, not when it is gone or was there before', async () => {
  const machine = new Machine();
  const login = join(machine.root, '.codex', 'auth.json');
  mkdirSync(join(machine.root, '.codex'));
  writeFileSync(login, '{"expired":true}');
  await machine.end(machine.begin(), LOGGED_OUT);
  expect(await machine.held()).toBe('2026-11-21T14:15:00.000Z');
  rmSync(login);
  expect(await machine.held()).toBe('2026-11-21T14:15:00.000Z');
  machine.restart();
  expect(await machine.held()).toBe('2026-11-21T14:15:00.000Z');
  writeFileSync(login, '{"fresh":true,"more":1}');
  expect(await machine.held()).toBeUndefined();

  await machine.end(machine.begin(), LOGGED_OUT);
  expect(await machine.held()).toBe('2026-11-21T14:30:00.000Z');
});

it('a clock that is set back holds nothing for longer, and an old hold is forgotten', async () => {
  const machine = new Machine();
  await machine.end(machine.begin(), LIMITED);
  machine.pass(-30 * 24 * 60);
  expect(await machine.held()).toBeUndefined();
  machine.pass(32 * 24 * 60);
  expect(await machine.held()).toBeUndefined();
  expect(await new Holds(machine.root).all()).toEqual([]);
});

it.each(['{"half', JSON.stringify({ id: 'codex', until: '2026-11-21T15:00:00.000Z' })])(
  'a hold that is not this machine’s (%s) is set aside and holds nothing',
  async (planted) => {
    const machine = new Machine();
    await machine.end(machine.begin(), LIMITED);
    expect(await machine.held()).toBeDefined();
    plantRow(machine.root, 'hold', 'codex', planted);
    expect(await machine.held()).toBeUndefined();
    const aside = join(machine.root, 'state.db.hold.codex.broken');
    expect(readFileSync(aside, 'utf8')).toBe(planted);
    await machine.end(machine.begin(), LIMITED);
    expect(await machine.held()).toBeDefined();
  },
);
