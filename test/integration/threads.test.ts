import { expect, it } from 'vitest';
import { fastImport } from '../support/bulk.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

/** Gives parts to two peers, and sums up once its prompt holds the answers of both. */
const BOSS = `prompt=$(cat)
case $prompt in
  *'(you) to w1'*)
    got=$(printf '%s\\n' "$prompt" | grep -c -e '^> w[12] to boss' -e '^--- Message .*(from: w[12],')
    test "$got" -ge 2 && printf '%s' "$prompt" | grep -o 'part [12] is done' ;;
  *) crosstalk send --to w1 'part 1' >&2; crosstalk send --to w2 'part 2' >&2 ;;
esac
exit 0`;

const tasksOf = (bus: Bus): string[] =>
  bus
    .from('boss')
    .filter(({ message }) => message.re.length === 0)
    .map(({ relPath }) => relPath);

const answer = (host: Host, relPath: string, peer: number, task = ''): void => {
  host.edit({
    [`data/channels/${host.channel()}/${relPath}`]: `---\nfrom: w${String(peer)}\nto: boss@front\ntype: text\ntimestamp: 2026-06-09T10:00:00Z\nre: ${task}\n---\n\npart ${String(peer)} is done\n`,
  });
};

const summaries = (bus: Bus): string[] =>
  bus.from('boss').flatMap(({ message }) => (message.re.length > 0 ? [message.body] : []));

it('peers whose clocks are days behind are heard while the dispatcher runs: the summary has every part', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { boss: BOSS });
  host.declare({ w1: 'true', w2: 'true' }, 'away');
  const running = host.start();
  await host.send('boss', 'the goal');
  await until('the tasks', () => tasksOf(bus).length === 2);
  const [first, second] = tasksOf(bus);
  const early = '2020/01/01/100000000Z-aaaaaaaa.md';
  answer(host, early, 1, first);
  await running.saw('dispatch_silent', ({ messages }) => String(messages) === early);
  answer(host, '2020/01/01/100000001Z-bbbbbbbb.md', 2, second);
  await until('the summary', () => summaries(bus).length === 1);
  await until('the end of it', () => running.count('dispatch_done') === 3);
  expect(summaries(bus)).toEqual(['part 1 is done\npart 2 is done\n']);
});

it(
  'a thread is whole however many messages its channel has that day',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { boss: BOSS });
    host.declare({ w1: 'true', w2: 'true' }, 'away');
    const question = await host.send('boss', 'the goal');
    const day = question.slice(0, 10);
    const folder = `data/channels/${host.channel()}/${day}`;
    const content =
      '---\nfrom: a\nto: nobody\ntype: text\ntimestamp: 2026-06-09T10:00:00Z\n---\n\nx\n';
    // By name they stand between the question and what comes of it.
    const prefix = question.slice(11, 20);
    const others = Array.from(
      { length: 6000 },
      (_, n) => [`${folder}/${prefix}Z-ffff${String(n).padStart(8, '0')}.md`, content] as const,
    );
    await fastImport(bus.hub, others);
    await host.once();
    const [first, second] = tasksOf(bus);
    const later = (n: number): string => `${day}/235959${String(900 + n)}Z-aaaaaaaa.md`;
    answer(host, later(1), 1, first);
    await host.once();
    answer(host, later(2), 2, second);
    await host.once();
    expect(summaries(bus)).toEqual(['part 1 is done\npart 2 is done\n']);
  },
);
