import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { WebNow } from '../../src/api/now.ts';
import { clockOf } from '../../src/actions/clock.ts';
import type { Check } from '../../src/actions/doctor/check.ts';
import type { Status } from '../../src/actions/health/report.ts';
import type { Explanation } from '../../src/actions/tracing/explain.ts';
import type { WebThread } from '../../src/api/api.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Actors, type Host } from '../support/bus.ts';
import { billed, pass } from '../support/passes.ts';
import { Program } from '../support/process.ts';
import { SECRETS } from '../support/secrets.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

// house.md, "One read model": whoever asks what state something is in gets the same answer.

interface Scene {
  host: Host;
  /** A message, and the actor whose state it is asked. */
  question?: string;
  actor?: string;
  /** Milliseconds by which the clock of whoever looks is ahead. */
  off?: number;
  /** What else `doctor` finds broken, which takes the network, or a look at every program. */
  besides?: string[];
}

interface Expected {
  /** Of one finding, or of a warning where all is healthy. */
  says: RegExp;
  healthy?: true;
  /** What `explain` says of the state, and `thread` of the message. */
  explain?: RegExp;
  thread?: RegExp;
}

async function machine(actors: Actors): Promise<Host> {
  return new Bus().host('front', actors);
}

/** A machine whose dispatcher runs and has reported. */
async function atWork(actors: Actors = { worker: 'echo done' }): Promise<Host> {
  const host = await machine(actors);
  host.start();
  await until('a healthy start', async () =>
    (await host.run('status')).out.startsWith('healthy\n'),
  );
  return host;
}

const SCENES: Record<string, [() => Promise<Scene>, Expected]> = {
  'a dead letter': [
    async () => {
      const host = await machine({ worker: { default: { cli: 'exit 7', attempts: 1 } } });
      const question = await host.send('worker', 'x');
      await host.once();
      return { host, question };
    },
    {
      says: /^quarantined deliveries: 1;/,
      explain: /quarantined as dead letter/,
      thread: /failed, dead letter \S+ here/,
    },
  ],
  'a delivery that is tried again': [
    async () => {
      const host = await machine({ worker: { default: { cli: 'exit 7', retry_delay: '10m' } } });
      const question = await host.send('worker', 'x');
      host.start();
      await until('the failure', async () => (await host.run('dlq')).out.includes('retrying'));
      return { host, question };
    },
    {
      says: /^failed deliveries that are retried by themselves: 1;/,
      explain: /retrying as dead letter/,
      thread: /failed, dead letter \S+ here; attempt 1/,
    },
  ],
  'mail that a budget holds, while no dispatcher runs': [
    async () => {
      const host = await machine({
        worker: { default: { cli: billed(), max_tokens_per_day: 42 } },
      });
      await host.send('worker', 'one');
      await pass(host);
      const question = await host.send('worker', 'two');
      await pass(host);
      return { host, question };
    },
    {
      says: /^mail for worker waits until .*max_tokens_per_day/,
      explain: /the budget of the day is spent, tried again at/,
      thread: /waiting for worker: the budget of the day is spent until/,
    },
  ],
  'mail that a budget held, and that somebody has let go since the dispatcher ended': [
    async () => {
      const host = await machine({
        worker: { default: { cli: billed(), max_tokens_per_day: 42 } },
      });
      await host.send('worker', 'one');
      await pass(host);
      const question = await host.send('worker', 'two');
      await pass(host);
      expect((await host.run('resume', '--for', 'worker')).out).toContain('1 message');
      return { host, question };
    },
    {
      says: /^no dispatcher is running here/,
      explain: /^(?!.*budget)/,
      thread: /waiting for worker: no dispatcher is running here/,
    },
  ],
  'an agent CLI that is not logged in': [
    async () => {
      const host = await machine({ worker: 'codex exec -' });
      const bin = join(host.bus.root, 'bin');
      mkdirSync(bin);
      symlinkSync(agent('refusing'), join(bin, 'codex'));
      const PATH = `${bin}:${process.env['PATH'] ?? ''}`;
      Object.assign(host.env, { PATH, HOME: host.bus.root, REFUSALS: bin });
      const why = 'ERROR: unexpected status 401 Unauthorized: Incorrect API key provided: x\n';
      writeFileSync(join(bin, 'codex.1'), why);
      const question = await host.send('worker', 'x');
      await host.once();
      return { host, question };
    },
    {
      says: /^codex is not logged in, so mail for worker waits/,
      explain: /not logged in/,
      thread: /waiting for worker: not logged in/,
    },
  ],
  'a pause': [
    async () => {
      const host = await atWork();
      await host.run('pause');
      const question = await host.send('worker', 'x');
      return { host, question };
    },
    {
      says: /^paused by operator since /,
      explain: /paused by operator/,
      thread: /waiting for worker: paused/,
    },
  ],
  'no dispatcher, and mail that waits': [
    async () => {
      const host = await machine({ worker: 'echo done' });
      return { host, question: await host.send('worker', 'x') };
    },
    {
      says: /^no dispatcher is running here, so mail for front waits/,
      thread: /waiting for worker: no dispatcher is running here/,
    },
  ],
  'mail for nobody': [
    async () => {
      const host = await machine({ worker: 'echo done' });
      const sent = await host.run('send', '--to', 'wroker', 'x');
      const question = /^Sent: (.+)$/m.exec(sent.out)?.[1] ?? '';
      return { host, question, actor: 'wroker', off: 2 * 3_600_000 };
    },
    {
      says: /^mail waits for an hour and longer: .*no host serves wroker; did you mean worker\?/,
      thread: /waiting for wroker: no host serves wroker/,
    },
  ],
  'a command that is not approved': [
    async () => {
      const host = await atWork();
      host.declare({ worker: 'echo other' });
      await host.run('sync');
      return { host };
    },
    { says: /^held until approved: .*worker/ },
  ],
  'an answer with a secret': [
    async () => {
      const secret = SECRETS['GitHub token']?.(42) ?? '';
      const host = await machine({ worker: `echo ${secret}` });
      await host.send('worker', 'x');
      await host.once();
      return { host };
    },
    { says: /^held since .* looks like a secret: the answer of worker to operator/ },
  ],
  'an outbox that is not pushed': [
    async () => {
      const host = await machine({});
      host.bus.unplug();
      const sent = await host.run('send', '--to', 'worker', '--no-wait', 'x');
      const question = /^Queued: (.+)$/m.exec(sent.out)?.[1] ?? '';
      return { host, question, off: 600_000, besides: ['remote'] };
    },
    {
      says: /^waiting in the outbox: 1, the oldest for \d+ s; push them with: crosstalk sync/,
      explain: /^queued here, not on the bus/,
      thread: /queued, not on the remote yet/,
    },
  ],
  'a state that was put back from a backup': [
    async () => {
      const host = await machine({ worker: 'echo done' });
      await host.once();
      const copy = `${host.state}-backup`;
      cpSync(host.state, copy, { recursive: true });
      const question = await host.send('worker', 'x');
      await host.once();
      rmSync(host.state, { recursive: true });
      cpSync(copy, host.state, { recursive: true });
      await host.start().saw('alias_shared');
      await until('its heartbeat', async () =>
        (await host.run('status')).out.includes('somebody else writes'),
      );
      return { host, question };
    },
    { says: /^somebody else writes as this host, front: /, thread: /worker answered after/ },
  ],
  'a host file that is broken, and no dispatcher': [
    async () => {
      const host = await machine({ worker: 'echo done' });
      await host.once();
      host.edit({ 'hosts/front.md': '---\nalias: front\nactors: [oops\n---\n' });
      await host.news();
      return { host };
    },
    { says: /^hosts\/front\.md: / },
  ],
  'a checkout with a change of its operator': [
    async () => {
      const host = await atWork();
      host.edit({ 'local/shown.md': 'one\n' });
      await host.run('sync');
      writeFileSync(join(host.dir, 'local/shown.md'), 'mine\n');
      host.edit({ 'local/shown.md': 'two\n' });
      await host.run('sync');
      return { host };
    },
    {
      says: /^the checkout is left as it is: it has uncommitted changes: local\/shown\.md; mail is not affected/,
      healthy: true,
    },
  ],
  'a checkout in which a merge is under way': [
    async () => {
      const host = await atWork();
      writeFileSync(join(host.dir, '.git', 'MERGE_HEAD'), '');
      host.edit({ 'local/shown.md': 'one\n' });
      await host.run('sync');
      return { host };
    },
    {
      says: /^the checkout is left as it is: MERGE_HEAD says that something is under way in it/,
      healthy: true,
    },
  ],
};

it.each(Object.entries(SCENES))('%s is the same for all who ask', async (_, [make, expected]) => {
  const { host, question, actor = 'worker', off = 0, besides = [] } = await make();
  const clock = { ...clockOf({}), now: () => new Date(Date.now() + off) };
  const look = async (...argv: string[]): Promise<{ out: string; code: number }> => {
    const ran = await host.runWith({ clock }, ...argv);
    expect(ran.err).not.toMatch(/^ {4}at /m);
    return ran;
  };
  const json = async <T>(...argv: string[]): Promise<T> =>
    JSON.parse((await look(...argv, '--json')).out) as T;
  // `doctor` tries to bring the checkout along, and `status` knows what came of it.
  const examined = await json<{ ok: boolean; checks: Check[] }>('doctor', '--host', 'front');
  const status = await json<Status>('status', '--host', 'front');
  const { findings, warnings, health } = status;

  const said = [...findings.map(({ problem }) => problem), ...warnings];
  expect(said).toContainEqual(expect.stringMatching(expected.says));
  expect(health).toEqual({
    ok: expected.healthy ?? false,
    problems: said.slice(0, findings.length),
  });
  const told = examined.checks.slice(0, said.length);
  for (const [at, { found, fix, ok, warning }] of told.entries()) {
    // What is to be done is part of a problem, or the command alone.
    expect([found, `${found}; ${fix}`].map(steady)).toContain(steady(said[at] ?? ''));
    expect([ok, warning === true]).toEqual([false, at >= findings.length]);
  }
  const broken = examined.checks.filter(({ ok, warning }) => !ok && warning !== true);
  expect(broken.slice(findings.length).map(({ check }) => check)).toEqual(besides);
  expect(examined.ok).toBe(health.ok && besides.length === 0);

  const shown = await look('status', '--check', '--host', 'front');
  expect([shown.code, shown.out.startsWith('healthy\n')]).toEqual([health.ok ? 0 : 1, health.ok]);
  const text = await look('doctor', '--host', 'front');
  expect(text.code).toBe(examined.ok ? 0 : 1);
  const web = await Web.start(host);
  const now = await web.get<WebNow>('/api/now');
  if (off === 0) expect(now.health.problems.map(steady)).toEqual(health.problems.map(steady));

  if (question === undefined) return;
  const explained = await json<Explanation>('explain', question, actor);
  const explainedText = await look('explain', question, actor);
  if (expected.explain !== undefined)
    expect(/^ {2}state: (.*)$/m.exec(explainedText.out)?.[1]).toMatch(expected.explain);
  const threaded = await json<WebThread>('thread', question);
  if (expected.thread !== undefined)
    expect((await look('thread', question)).out).toMatch(expected.thread);
  const [state] = threaded.roots[0]?.states ?? [];
  expect(state?.delay ?? null).toEqual(explained.facts.delay);
  const waits = now.waiting.messages.find(({ relPath }) => relPath === question);
  if (waits !== undefined) expect(waits.delay).toEqual(explained.facts.delay);
  if (state?.state === 'failed') expect(state.detail).toBe(explained.facts.dead_letter?.id);
});

/** A text without ages, which differ from one look to the next. */
function steady(text: string): string {
  return text.replace(/\b\d+ s\b/g, 'some s');
}

it('the program in a process of its own says the same', async () => {
  const host = await machine({ worker: { default: { cli: 'exit 7', attempts: 1 } } });
  await host.send('worker', 'x');
  await host.once();
  const [status, doctor] = [new Program(host, 'status'), new Program(host, 'doctor')];
  expect([await status.ended(), await doctor.ended()]).toEqual([0, 1]);
  const [verdict = ''] = status.out.split('\n\n');
  const lines = verdict.split('\n').map((line) => line.replace(/^(?:stuck:)? +/, ''));
  for (const line of lines) expect(doctor.out).toContain(`broken mail: ${line}\n`);
});
