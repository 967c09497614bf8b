import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { cellIn, forget } from '../support/rows.ts';
import { until } from '../support/wait.ts';

const WORKER = `sed -n '/^--- Message/,$p' | sed -n 's/^part of \\(.*\\)/done for \\1/p'`;
/** Delegates the part of each goal to "worker", in the channel "parts", and passes on the result. */
const BOSS = `batch=$(sed -n '/^--- Message/,$p')
for asker in $(printf '%s\\n' "$batch" | sed -n 's/^goal of \\([a-z]*\\)$/\\1/p'); do
  crosstalk send --channel parts --to worker "part of $asker" >&2 || exit 1
done
printf '%s\\n' "$batch" | sed -n 's/^done for \\([a-z]*\\)$/summary for \\1/p'`;

interface Company {
  bus: Bus;
  front: Host;
  back: Host;
  /** The id of the channel in which the work is done. */
  parts: string;
}

async function company(boss = BOSS): Promise<Company> {
  const bus = new Bus();
  const front = await bus.host('front', { boss });
  const back = await bus.host('back', { worker: WORKER });
  const made = await front.run('channel', 'create', 'parts', '--parent', front.channel());
  return { bus, front, back, parts: made.out.trim().split('\n').at(-1) ?? '' };
}

const ask = (host: Host, asker: string): Promise<string> =>
  host.send('boss', `goal of ${asker}`, '--from', asker, '--channel', host.channel());

/** The boss's answers: channel, addressees, the answered messages and the text. */
const answers = (bus: Bus): { channel: string; to: string; re: string[]; text: string }[] =>
  bus
    .from('boss')
    .filter(({ message }) => message.re.length > 0)
    .map(({ channel, message: { to, re, body } }) => ({
      channel,
      to: to.map(({ name }) => name).join(),
      re,
      text: body.trim(),
    }));

const answerTo = (host: Host, asker: string, question: string): unknown => ({
  channel: host.channel(),
  to: asker,
  re: [question],
  text: `summary for ${asker}`,
});

const runs = (log: { event: string }[]): number =>
  log.filter(({ event }) => event === 'dispatch_start').length;

const loseCursors = ({ state }: Host): void => {
  expect(cellIn(state, 'cursors')).toBeDefined();
  forget(state, 'cursors');
};

const only = (found: Stored[]): Stored => {
  expect(found).toHaveLength(1);
  return found[0]!;
};

it(
  'the answer to work that was done in another channel goes to the channel of the question, once',
  { tags: 'long' },
  async () => {
    const { bus, front, back, parts } = await company();
    const question = await ask(front, 'alice');
    await front.once();
    const task = only(bus.from('boss'));
    expect(task).toMatchObject({
      channel: parts,
      message: { re: [], cause: [], origin: [`${front.channel()}/${question}`] },
    });
    await back.once();
    await front.once();
    expect(answers(bus)).toEqual([answerTo(front, 'alice', question)]);
    const done = only(bus.from('worker'));
    const answer = only(bus.from('boss').filter(({ message }) => message.re.length > 0));
    expect(answer.message.origin).toEqual([`${parts}/${done.relPath}`]);
    const replied = await front.run('replies', `${front.channel()}/${question}`);
    expect(replied.out).toContain('summary for alice');
    expect(runs(await front.once()) + runs(await back.once())).toBe(0);
  },
);

it(
  'goals of two askers that overlap in another channel are each answered to the one who asked',
  { tags: 'long' },
  async () => {
    const { bus, front, back } = await company();
    const first = await ask(front, 'ann');
    await front.once();
    const second = await ask(front, 'ben');
    await front.once();
    await back.once();
    await front.once();
    const found = answers(bus).sort((a, b) => (a.to < b.to ? -1 : 1));
    expect(found).toEqual([answerTo(front, 'ann', first), answerTo(front, 'ben', second)]);
  },
);

it(
  'a machine whose cursors are lost, and one that starts late, do nothing again that was done in two channels',
  { tags: 'long' },
  async () => {
    const { bus, front, back } = await company();
    const question = await ask(front, 'alice');
    await front.once();
    loseCursors(front);
    expect(runs(await front.once())).toBe(0);
    await back.once();
    loseCursors(front);
    expect(runs(await front.once())).toBe(1);
    expect(answers(bus)).toEqual([answerTo(front, 'alice', question)]);
    loseCursors(front);
    loseCursors(back);
    expect(runs(await front.once()) + runs(await back.once())).toBe(0);
    const late = await bus.host('late', { boss: BOSS, worker: WORKER });
    expect(runs(await late.once())).toBe(0);
  },
);

it(
  'a running dispatcher that is started anew in between answers once',
  { tags: 'long' },
  async () => {
    const { bus, front, back } = await company();
    const question = await ask(front, 'alice');
    const before = front.start();
    await until('the task', () => bus.from('boss').length > 0);
    await before.stop();
    await back.once();
    const after = front.start();
    await until('the answer', () => answers(bus).length > 0);
    await after.stop();
    expect(runs(await front.once())).toBe(0);
    expect(answers(bus)).toEqual([answerTo(front, 'alice', question)]);
  },
);

it(
  'a history that is rewritten after the answer brings no second one',
  { tags: 'long' },
  async () => {
    const { bus, front, back } = await company();
    const question = await ask(front, 'alice');
    await front.once();
    await back.once();
    await front.once();
    const tree = git(bus.hub, 'rev-parse', 'main^{tree}').trim();
    const root = git(bus.hub, 'commit-tree', tree, '-m', 'squashed').trim();
    git(bus.hub, 'update-ref', 'refs/heads/main', root);
    const log = [...(await front.once()), ...(await back.once())];
    expect(log.filter(({ event }) => event === 'cursor_lost').length).toBeGreaterThan(0);
    expect(runs(log)).toBe(0);
    expect(answers(bus)).toEqual([answerTo(front, 'alice', question)]);
  },
);

it(
  'an answer that is lost with a remote set back is published again, and settles both channels',
  { tags: 'long' },
  async () => {
    const { bus, front, back, parts } = await company();
    const question = await ask(front, 'alice');
    const backup = git(bus.hub, 'rev-parse', 'main').trim();
    await front.once();
    await back.once();
    await front.once();
    git(bus.hub, 'update-ref', 'refs/heads/main', backup);
    expect(runs(await front.once())).toBe(0);
    expect(answers(bus)).toEqual([answerTo(front, 'alice', question)]);
    expect(bus.from('boss').filter(({ channel }) => channel === parts)).toHaveLength(1);
    expect(runs(await back.once()) + runs(await front.once())).toBe(0);
    expect(only(bus.from('worker')).message.body).toContain('done for alice');
  },
);

it(
  'silence in another channel is accepted while a peer asked in a third one owes its part',
  { tags: 'long' },
  async () => {
    const boss = `batch=$(sed -n '/^--- Message/,$p')
case $batch in
  *"goal of"*) crosstalk send --channel parts --to worker "part of one" >&2
    crosstalk send --channel more --to worker "part of two" >&2 ;;
  *"done for two"*) echo "all is done" ;;
esac`;
    const { bus, front, back } = await company(boss);
    const made = await front.run('channel', 'create', 'more', '--parent', front.channel());
    const more = made.out.trim().split('\n').at(-1) ?? '';
    const question = await ask(front, 'alice');
    await front.once();
    const late = only(bus.from('boss').filter(({ channel }) => channel === more));
    const path = `data/channels/${more}/${late.relPath}`;
    const task = git(bus.hub, 'show', `main:${path}`);
    // The part in the third channel is withheld from the worker until the first is done.
    front.remove(path);
    await back.once();
    front.edit({ [path]: task });
    const silent = await front.once();
    expect(silent.filter(({ event }) => event === 'dispatch_silent')).toHaveLength(1);
    expect(silent.filter(({ event }) => event === 'dispatch_failed')).toEqual([]);
    await back.once();
    await front.once();
    expect(answers(bus)).toMatchObject([
      { channel: front.channel(), re: [question], text: 'all is done' },
    ]);
  },
);

it(
  'what a run sends to its asker from another channel is an answer in the channel of the question',
  { tags: 'long' },
  async () => {
    const boss = `batch=$(sed -n '/^--- Message/,$p')
case $batch in
  *"goal of"*) crosstalk send --channel parts --to worker "part of alice" >&2 ;;
  *) crosstalk send --to alice "sent" >&2 ;;
esac`;
    const { bus, front, back } = await company(boss);
    const question = await ask(front, 'alice');
    await front.once();
    await back.once();
    await front.once();
    expect(answers(bus)).toEqual([
      { channel: front.channel(), to: 'alice', re: [question], text: 'sent' },
    ]);
  },
);

it(
  'the prompt of a run in another channel shows the question it is for',
  { tags: 'long' },
  async () => {
    const boss = `all=$(cat)
case $all in
  *"> goal of alice"*) echo "the question was shown" ;;
  *) crosstalk send --channel parts --to worker "part of alice" >&2 ;;
esac`;
    const { bus, front, back } = await company(boss);
    await ask(front, 'alice');
    await front.once();
    await back.once();
    await front.once();
    expect(answers(bus).map(({ text }) => text)).toEqual(['the question was shown']);
  },
);

it('of what peers answer in another channel no second run is made while the answer to the question waits to be pushed', async () => {
  const bus = new Bus();
  const gate = join(bus.root, 'gate');
  const boss = `case "$CROSSTALK_DISPATCH_CHANNEL" in
  "$(cat ${join(bus.root, 'home')})") crosstalk send --channel parts --to w1 part >&2 ;;
  *) while [ ! -e ${gate} ]; do sleep 0.05; done
    grep -q '^> > sum' || echo sum ;;
esac`;
  const front = await bus.host('front', { boss: { default: { cli: boss, count: 3 } } });
  front.declare({ w1: 'true' }, 'away');
  writeFileSync(join(bus.root, 'home'), front.channel());
  const made = await front.run('channel', 'create', 'parts', '--parent', front.channel());
  const folder = `data/channels/${made.out.trim().split('\n').at(-1) ?? ''}`;
  const goal = await front.send('boss', 'goal', '--from', 'alice', '--channel', front.channel());
  await front.once();
  const task = only(bus.from('boss'));
  const done = (relPath: string): Record<string, string> => ({
    [`${folder}/${relPath}`]: `---\nfrom: w1\nto: boss@front\ntype: text\ntimestamp: 2026-11-22T12:00:00Z\nre: ${task.relPath}\n---\n\ndone\n`,
  });
  front.edit(done('2099/01/01/000000001Z-bbbbbbbb.md'));
  const running = front.start();
  await running.saw('dispatch_start');
  front.edit(done('2099/01/01/000000002Z-cccccccc.md'));
  const second = git(bus.hub, 'rev-parse', 'main').trim();
  await running.saw('tick', ({ tip }) => tip === second);
  bus.unplug();
  writeFileSync(gate, '');
  await running.saw('reply_queued');
  const failed = running.count('fetch_failed');
  await until('another look', () => running.count('fetch_failed') > failed);
  bus.plug();
  await until('both are dealt with', () => running.count('dispatch_done') === 2);
  await until('the answer', () => answers(bus).length > 0);
  expect(answers(bus).map(({ to, re }) => [to, re])).toEqual([['alice', [goal]]]);
});
