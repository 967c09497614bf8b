import { expect, it } from 'vitest';
import type { WebNow, WebThread } from '../../src/api/api.ts';
import type { Check } from '../../src/actions/doctor/check.ts';
import type { Status } from '../../src/actions/health/report.ts';
import type { RepliedJson } from '../../src/actions/shapes/as-json.ts';
import type { Explanation } from '../../src/actions/tracing/explain.ts';
import { hasClaims, shownClaims, takenAt } from '../../src/actions/lookup/taken.ts';
import {
  beatFile,
  claimFile,
  endFile,
  formatBeat,
  formatClaim,
  formatEnd,
  type Claimed,
} from '../../src/protocol/claim.ts';
import { formatHostReport } from '../../src/protocol/files/host-report.ts';
import { openTransport } from '../../src/actions/context.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Web } from '../support/web.ts';

// pools.md, "What a user sees": whoever asks is told by all faces alike which host has taken a message.

const RUN = '01J0000000000000000000000A.01J0000000000000000000000B';
const PROFILE = '---\nname: tester\ndescription: tests\nserve: one\n---\n';
const ago = (seconds: number): string => new Date(Date.now() - 1000 * seconds).toISOString();

interface Scene {
  laptop: Host;
  question: string;
  of: Claimed;
}

/** A laptop that asks, and two hosts that share an actor, none of which runs. */
async function scene(): Promise<Scene> {
  const bus = new Bus();
  const laptop = await bus.host('laptop', { idle: 'true' });
  laptop.declare({ tester: 'echo ok' }, 'server');
  laptop.declare({ tester: 'echo ok' }, 'desk');
  laptop.edit({ 'local/actors/tester.md': PROFILE });
  const question = await laptop.send('tester', 'x');
  const of = { channel: laptop.channel(), relPath: question, actor: 'tester' };
  return { laptop, question, of };
}

const claim = (host: string, at: string, run = RUN): string =>
  formatClaim({ host, run, lease: 900_000, at });

async function json<T>(host: Host, ...argv: string[]): Promise<T> {
  await host.news();
  const ran = await host.run(...argv, '--json');
  expect(ran.err).not.toMatch(/^ {4}at /m);
  return JSON.parse(ran.out) as T;
}

const repliesTo = async (host: Host, question: string): Promise<RepliedJson> => {
  const [one] = await json<RepliedJson[]>(host, 'replies', question);
  if (one === undefined) throw new Error('no message');
  return one;
};

/** What a face says while the message is open. */
async function said(laptop: Host, question: string): Promise<{ thread: string; explain: string }> {
  await laptop.news();
  const [thread, explain] = [
    await laptop.run('thread', question),
    await laptop.run('explain', question, 'tester'),
  ];
  return { thread: thread.out, explain: explain.out };
}

it('a message that a host has taken is shown with that host by all who are asked', async () => {
  const { laptop, question, of } = await scene();
  expect(await repliesTo(laptop, question)).not.toHaveProperty('taken');
  const at = ago(12);
  laptop.edit({ [claimFile(of, 1)]: claim('server', at) });
  const taken = { host: 'server', at };
  expect((await repliesTo(laptop, question)).taken).toEqual(taken);
  const [state] = (await json<WebThread>(laptop, 'thread', question)).roots[0]?.states ?? [];
  expect(state).toMatchObject({ state: 'waiting', delay: null, taken });
  const explained = await json<Explanation>(laptop, 'explain', question, 'tester');
  expect(explained.facts.taken).toEqual(taken);
  expect(explained.claims).toEqual([
    { n: 1, host: 'server', at, end: null, known: true, faults: [] },
  ]);
  const words = /tester@server has taken it \d+ s ago/;
  const shown = await said(laptop, question);
  expect(shown.thread).toMatch(words);
  expect(shown.explain).toMatch(words);
  expect(shown.explain).toContain(`  claim 1: server at ${at}\n`);
  // Only this host owes an answer, and whoever waits is told once.
  const waits = await laptop.run('wait', question, '--timeout', '3');
  expect(waits.err.match(new RegExp(words, 'g'))).toHaveLength(1);
  expect(waits.err).not.toContain('desk');
  const web = await Web.start(laptop);
  const now = await web.get<WebNow>('/api/now');
  expect(now.waiting.messages.find(({ relPath }) => relPath === question)).toMatchObject({ taken });
  expect((await json<Status>(laptop, 'status')).warnings).toEqual([]);
});

it('a claim says that its host waits for others, holds it back, or has given it back', async () => {
  const { laptop, question, of } = await scene();
  const at = ago(5);
  const beat = formatBeat({ run: RUN, at, waits: true });
  laptop.edit({ [claimFile(of, 1)]: claim('server', at), [beatFile(of, 1)]: beat });
  for (const text of Object.values(await said(laptop, question)))
    expect(text).toContain('tester@server has it, and waits for others');
  laptop.edit({ [endFile(of, 1)]: formatEnd({ end: 'held', run: RUN, at }) });
  for (const text of Object.values(await said(laptop, question)))
    expect(text).toContain('held on server: a person there has to decide (crosstalk outbox there)');
  const notBefore = new Date(Date.now() + 600_000).toISOString();
  const given = formatEnd({ end: 'released', run: RUN, at, attempted: true, notBefore });
  laptop.edit({ [endFile(of, 1)]: given });
  for (const text of Object.values(await said(laptop, question)))
    expect(text).toMatch(
      /tester@server has given it back, and it waits for a host \(not before .*\)/,
    );
  expect((await repliesTo(laptop, question)).taken).toMatchObject({ end: 'released' });
  // The next one has it then, and once it has answered nothing is said of claims.
  laptop.edit({ [claimFile(of, 2)]: claim('desk', at) });
  expect((await said(laptop, question)).thread).toMatch(/tester@desk has taken it \d+ s ago/);
  const answer = `---\nfrom: tester\nto: operator\nhost: desk\ntype: text\ntimestamp: ${ago(0)}\nre: ${question}\n---\n\ndone\n`;
  const folder = `data/channels/${of.channel}`;
  laptop.edit({
    [`${folder}/${question.replace(/-.*/, '')}-0000000a.md`]: answer,
    [endFile(of, 2)]: formatEnd({ end: 'answered', run: RUN, at }),
  });
  const over = await repliesTo(laptop, question);
  expect(over.state).toBe('REPLIED');
  expect(over).not.toHaveProperty('taken');
  expect((await said(laptop, question)).thread).not.toContain('has taken it');
});

it('claims that no host stands behind are a warning, the same for status and doctor, and decide nothing here', async () => {
  const { laptop, question, of } = await scene();
  laptop.edit({
    [claimFile(of, 1)]: claim('mallory', ago(3)),
    [claimFile(of, 3)]: claim('server', ago(3)),
    [claimFile({ ...of, actor: 'evil\u0007' }, 1)]: claim('server', ago(3)),
    [endFile(of, 3)]: formatEnd({ end: 'released', run: 'another', at: ago(2) }),
  });
  const status = await json<Status>(laptop, 'status');
  const [warning = '', ...more] = status.warnings;
  expect(more).toEqual([]);
  expect(warning).toMatch(/^2 claims that no host stands behind, the first: tester, message /);
  expect(warning).toContain('no host file says that mallory serves tester');
  expect(warning).toContain('; see who pushed it with: git log -- data/claims/');
  expect(status.health.problems.join()).not.toContain('claim');
  const { checks } = await json<{ checks: Check[] }>(laptop, 'doctor');
  const found = checks.filter(({ check }) => check === 'claims');
  expect(found).toHaveLength(1);
  expect(found.map((one) => `${one.found}; ${one.fix}`)).toEqual([warning]);
  const { claims } = await json<Explanation>(laptop, 'explain', question, 'tester');
  expect(claims).toMatchObject([
    { n: 1, host: 'mallory', known: false },
    { n: 3, host: 'server', known: true },
  ]);
  expect(claims?.[1]?.faults).toEqual([
    'number 3 counts for nothing, as 2 is missing',
    'its end is by another run',
  ]);
  // Both hosts that serve it still owe an answer.
  const waits = await laptop.run('wait', question, '--timeout', '1');
  expect(waits.err).toContain('tester@mallory has taken it');
});

it('a host that answers what another has to claim, and never claims, is named', async () => {
  const { laptop, question, of } = await scene();
  const answer = (host: string): string =>
    `---\nfrom: tester\nto: operator\nhost: ${host}\ntype: text\ntimestamp: ${ago(0)}\nre: ${question}\n---\n\ndone\n`;
  const beside = `data/channels/${of.channel}/${question.replace(/-.*/, '')}`;
  laptop.edit({
    [claimFile(of, 1)]: claim('server', ago(9)),
    [endFile(of, 1)]: formatEnd({ end: 'answered', run: RUN, at: ago(1) }),
    [`${beside}-0000000a.md`]: answer('server'),
  });
  expect((await json<Status>(laptop, 'status')).warnings).toEqual([]);
  laptop.edit({ [`${beside}-0000000b.md`]: answer('desk') });
  expect((await json<Status>(laptop, 'status')).warnings).toEqual([
    expect.stringMatching(/^desk answers what one of several hosts is to take, without a claim/),
  ]);
});

it('a host says in its report that it cannot take shared work, which those who ask are told', async () => {
  const { laptop, question } = await scene();
  const none = { count: 0, messages: [] };
  const until = new Date(Date.now() + 600_000).toISOString();
  const report = formatHostReport({
    ...{ at: ago(60), running: none, waiting: none, failed: none },
    away: [
      { actor: 'tester', reason: 'rate_limited', until },
      { actor: 'others', reason: 'paused' },
    ],
  });
  laptop.edit({ 'data/hosts/server.json': report });
  await laptop.news();
  const waits = await laptop.run('wait', question, '--timeout', '1');
  expect(waits.err).toMatch(
    /server cannot take work of tester now: rate limited until .*, as it said 1 min ago/,
  );
  const { out } = await laptop.run('status', '--all', '--host', 'laptop');
  expect(out).toMatch(/cannot take work of tester now: rate limited until /);
  expect(out).not.toContain('others');
});

it('without a folder of claims one object is looked for at each commit, and nothing else', async () => {
  const { laptop, of } = await scene();
  await laptop.news();
  const { transport } = await openTransport(laptop.dir, { ...process.env, ...laptop.env });
  try {
    const tip = (await transport.tip()) ?? '';
    const before = transport.cost;
    expect(await takenAt(transport, tip, of)).toBeUndefined();
    expect(transport.cost.reads).toBe(before.reads + 1);
    for (let round = 0; round < 10; round++) {
      expect(await takenAt(transport, tip, of)).toBeUndefined();
      expect(await shownClaims(transport, tip, of, [])).toEqual([]);
      expect(await hasClaims(transport, tip)).toBe(false);
    }
    expect(transport.cost.reads).toBe(before.reads + 1);
  } finally {
    transport.close();
  }
});
