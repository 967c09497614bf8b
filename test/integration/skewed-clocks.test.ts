import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

/** What a machine writes whose clock is years behind. */
const EARLY = '2020/01/01';

/** Gives parts to two peers, and sums up once its prompt holds the answers of both. */
const BOSS = `prompt=$(cat)
case $prompt in
  *'(you) to w1'*)
    got=$(printf '%s\\n' "$prompt" | grep -c -e '^> w[12] to boss' -e '^--- Message .*(from: w[12],')
    test "$got" -ge 2 && printf '%s' "$prompt" | grep -o 'part [12] is done' ;;
  *) crosstalk send --to w1 $WHERE 'part 1' >&2; crosstalk send --to w2 $WHERE 'part 2' >&2 ;;
esac
exit 0`;

const tasksOf = (bus: Bus): { channel: string; relPath: string }[] =>
  bus.from('boss').filter(({ message }) => message.re.length === 0);

const summaries = (bus: Bus): string[] =>
  bus.from('boss').flatMap(({ message }) => (message.re.length > 0 ? [message.body] : []));

/** A peer's answer to a task, from a machine whose clock is behind. */
function answer(
  host: Host,
  name: string,
  peer: number,
  task?: Partial<{ channel: string; relPath: string }>,
): void {
  host.edit({
    [`data/channels/${task?.channel ?? ''}/${EARLY}/${name}.md`]: `---\nfrom: w${String(peer)}\nto: boss@front\ntype: text\ntimestamp: 2020-01-01T10:00:00Z\nre: ${task?.relPath ?? ''}\n---\n\npart ${String(peer)} is done\n`,
  });
}

it.each(['general', 'elsewhere'])(
  'peers whose clocks are days behind are heard over restarts: the summary has every part (parts in %s)',
  async (where) => {
    const bus = new Bus();
    const host = await bus.host('front', { boss: `WHERE='--channel ${where}'\n${BOSS}` });
    host.declare({ w1: 'true', w2: 'true' }, 'away');
    if (where === 'elsewhere') await host.run('channel', 'create', where);
    // What is there before the thread, so that it does not begin with the history.
    await host.send('nobody', 'before', '--channel', 'general');
    await host.send('boss', 'the goal', '--channel', 'general');
    await host.once();
    const [first, second] = tasksOf(bus);
    answer(host, '100000000Z-aaaaaaaa', 1, first);
    await host.once();
    expect(summaries(bus)).toEqual([]);
    answer(host, '100000001Z-bbbbbbbb', 2, second);
    await host.once();
    await host.once();
    expect(summaries(bus)).toEqual(['part 1 is done\npart 2 is done\n']);
  },
);

it(
  'the same where the first answer comes before the last part is given',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { boss: BOSS });
    host.declare({ w1: 'true', w2: 'true' }, 'away');
    const goal = await host.send('boss', 'the goal');
    const folder = `data/channels/${host.channel()}`;
    const [one, two] = ['2026/06/09/100000000Z-aaaaaaaa.md', '2026/06/09/100001000Z-bbbbbbbb.md'];
    const task = (relPath: string, peer: number): void => {
      host.edit({
        [`${folder}/${relPath}`]: `---\nfrom: boss\nto: w${String(peer)}\nhost: front\ntype: text\ntimestamp: 2026-06-09T10:00:00Z\ncause: ${goal}\n---\n\npart\n`,
      });
    };
    task(one, 1);
    answer(host, '100000000Z-aaaaaaaa', 1, { channel: host.channel(), relPath: one });
    task(two, 2);
    await host.once();
    answer(host, '100000001Z-bbbbbbbb', 2, { channel: host.channel(), relPath: two });
    for (let pass = 0; pass < 3; pass++) await host.once();
    expect(summaries(bus)).toEqual(['part 1 is done\npart 2 is done\n']);
  },
);

it(
  'a dead letter whose message was answered by a clock that is days behind is not run again',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const ledger = join(bus.root, 'ledger');
    const host = await bus.host('front', { worker: `echo run >> ${ledger}; exit 4` });
    const question = await host.send('worker', 'a question');
    await host.once();
    expect(readFileSync(ledger, 'utf8')).toBe('run\n');
    host.edit({
      [`data/channels/${host.channel()}/${EARLY}/100000000Z-aaaaaaaa.md`]: `---\nfrom: worker\nto: operator\nhost: front\ntype: text\ntimestamp: 2020-01-01T10:00:00Z\nre: ${question}\n---\n\ndone\n`,
    });
    await host.run('dlq', '--retry', 'all');
    await host.once();
    expect(readFileSync(ledger, 'utf8')).toBe('run\n');
    expect(JSON.parse((await host.run('dlq', '--json')).out)).toEqual([]);
  },
);

it(
  'an answer from a clock that is days behind wakes whoever gave the task once that is back',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', { boss: agent('boss') });
    front.declare({ worker: 'true' }, 'away');
    const goal = await front.send('boss', 'paint it');
    const before = git(bus.hub, 'rev-parse', 'main').trim();
    await front.once();
    const [task] = tasksOf(bus);
    git(bus.hub, 'update-ref', 'refs/heads/main', before);
    front.edit({
      [`data/channels/${front.channel()}/${EARLY}/100000000Z-aaaaaaaa.md`]: `---\nfrom: worker\nto: boss@front\ntype: text\ntimestamp: 2020-01-01T10:00:00Z\nre: ${task?.relPath ?? ''}\n---\n\ndone\n`,
    });
    for (let pass = 0; pass < 4; pass++) await front.once();
    const answers = bus.from('boss').filter(({ message }) => message.re.includes(goal));
    expect(answers.map(({ message }) => message.body.trim())).toEqual(['boss reports: done']);
  },
);
