import { expect, it } from 'vitest';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

interface Compacted {
  file: string;
  covers: string[];
  kind: string;
  name: string;
  from: string;
  changed_by: string;
  supersedes: string | null;
}

/** A thread of a question and its answer; returns the question. */
async function answered(host: Host, text: string): Promise<string> {
  const question = await host.send('worker', text, '--from', 'anna', '--new');
  await host.once();
  return question;
}

const summer = 'cat > /dev/null; echo "They agreed on Tuesday."';

it(
  'an actor sums up a thread, and the note names what it covers and replaces the one before',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat > /dev/null; echo Tuesday', summer });
    const question = await answered(host, 'On which day?\n[2026/01/01: boss to all]\n> quoted');
    host.start();
    const first = await host.run('compact', question, '--by', 'summer', '--from', 'bert', '--json');
    expect(first.code).toBe(0);
    const made = JSON.parse(first.out) as Compacted;
    const answer = bus.from('worker')[0]!.relPath;
    const channel = host.channel();
    expect(made).toMatchObject({
      kind: 'archive',
      from: 'summer',
      changed_by: 'bert',
      covers: [`${channel}/${question}`, `${channel}/${answer}`],
      supersedes: null,
    });
    const shown = await host.run('memory', 'show', made.file);
    expect(shown.out).toMatch(/^covers +2 messages$/m);
    expect(shown.out).toMatch(/\n\nThey agreed on Tuesday\.\n$/);

    // The texts are in the task, so that the actor needs no tools, and none of them begins another one.
    const [task] = bus.from('bert');
    expect(task?.message.to).toEqual([{ name: 'summer' }]);
    expect(task?.message.body).toContain(
      `\n\n[${question}: anna to worker]\n> On which day?\n> [2026/01/01: boss to all]\n> > quoted\n\n[${answer}: worker to anna]\n> Tuesday\n`,
    );
    const second = await host.run('compact', answer, '--by', 'summer', '--json');
    expect(JSON.parse(second.out)).toMatchObject({ name: made.name, supersedes: made.file });
    expect(JSON.parse((await host.run('memory', 'list', '--json')).out)).toHaveLength(1);
  },
);

it('by default the actor is asked that wrote last, and without an answer nothing is remembered', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: 'cat > /dev/null; echo fine',
    breaks: { default: { cli: 'exit 7', attempts: 1 } },
  });
  const question = await answered(host, 'how is it?');
  const running = host.start();
  const made = await host.run('compact', question);
  expect([made.code, made.out]).toEqual([
    0,
    expect.stringMatching(/^Remembered: \S+\.md, of 2 messages, by worker\n$/),
  ]);
  const failed = await host.run('compact', question, '--by', 'breaks');
  expect([failed.code, failed.out]).toEqual([1, '']);
  expect(failed.err).toContain('there is no summary, so nothing was remembered');
  expect(failed.err).toContain('breaks failed on front');
  await running.stop();
  const late = await host.run('compact', question, '--by', 'worker', '--timeout', '0');
  expect([late.code, late.out]).toEqual([3, '']);
  expect(JSON.parse((await host.run('memory', 'list', '--json')).out)).toHaveLength(1);
});

it(
  'a thread that nobody can sum up, or that is a single message, is not asked about',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const alone = await host.send('nobody', 'hello', '--from', 'anna');
    const single = await host.run('compact', alone, '--by', 'worker');
    expect([single.code, single.err]).toEqual([
      2,
      expect.stringContaining('it is a single message'),
    ]);
    await host.run('reply', alone, 'hello back', '--from', 'bert');
    const unknown = await host.run('compact', alone);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('with: --by <actor>')]);
    const before = bus.messages().length;
    for (const by of ['all', 'worker,other', 'bad name']) {
      const several = await host.run('compact', alone, '--by', by);
      expect([several.code, several.err]).toEqual([
        2,
        `crosstalk compact: --by is "${by}", expected one actor: name or name@host\n`,
      ]);
    }
    expect((await host.run('compact', 'ffffffff')).code).toBe(1);
    expect(bus.messages()).toHaveLength(before);
  },
);

it(
  'where a prompt leaves messages of a thread out, the note that sums them up stands in their place',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat' });
    const channel = host.channel();
    const paths = Array.from({ length: 60 }, (_, n) =>
      relPathAt(
        new Date(Date.now() - 3_600_000 + n * 1000),
        `abcd${n.toString(16).padStart(8, '0')}`,
      ),
    );
    const message = (n: number, to: string, cause: string[]): string =>
      formatMessage({
        from: 'anna',
        to: [{ name: to }],
        type: 'text',
        timestamp: new Date(Date.now() - 3_600_000 + n * 1000).toISOString(),
        re: [],
        cause,
        extra: {},
        body: `said ${String(n)}\n`,
      });
    host.edit(
      Object.fromEntries(
        paths.map((path, n) => [
          messageFile(channel, path),
          message(n, n === 59 ? 'worker' : 'bert', n === 59 ? paths.slice(0, 59) : []),
        ]),
      ),
    );
    const covers = paths
      .slice(0, 30)
      .map((path) => `\n  - ${channel}/${path}`)
      .join('');
    const archive = `---\nfrom: summer\ntimestamp: 2026-01-01T00:00:00.000Z\nsubject: s\nscope: ${channel}\nkind: archive\ncovers:${covers}\n---\n\nThey agreed on Tuesday.\n`;
    host.edit({ 'data/memories/20260101T000000000Z-0000abcd.md': archive });
    await host.once();
    const prompt = bus.from('worker')[0]?.message.body ?? '';
    expect(prompt).toContain('said 0\n');
    expect(prompt).not.toContain('said 7\n');
    expect(prompt).toMatch(
      /\[19 messages of this thread are left out here; crosstalk thread \S+ names them\. For 19 of them stands the note 0000abcd by summer:\]\n(?:> )+They agreed on Tuesday\.\n/,
    );
  },
);

it(
  'of a thread of many messages, each below the last one, the first ones are summed up',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { summer });
    const channel = host.channel();
    const begun = Date.now() - 3_600_000;
    const at = (n: number): Date => new Date(begun + n * 1000);
    const paths = Array.from({ length: 1999 }, (_, n) =>
      relPathAt(at(n), `abcd${n.toString(16).padStart(8, '0')}`),
    );
    host.edit(
      Object.fromEntries(
        paths.map((path, n) => [
          messageFile(channel, path),
          formatMessage({
            from: n % 2 === 0 ? 'anna' : 'bert',
            to: [{ name: n % 2 === 0 ? 'bert' : 'anna' }],
            type: 'text',
            timestamp: at(n).toISOString(),
            re: n === 0 ? [] : [paths[n - 1]!],
            cause: [],
            extra: {},
            body: `said ${String(n)}.\n`,
          }),
        ]),
      ),
    );
    host.start();
    const made = await host.run('compact', paths[900]!, '--by', 'summer', '--json');
    expect([made.code, made.err]).toEqual([
      0,
      'crosstalk compact: it sums up the first 500 of 1999 messages; there was no room for the others\n',
    ]);
    expect((JSON.parse(made.out) as Compacted).covers).toEqual(
      paths.slice(0, 500).map((path) => `${channel}/${path}`),
    );
    const asked = bus.from('operator')[0]?.message.body ?? '';
    expect([asked.includes('> said 499.\n'), asked.includes('> said 500.\n')]).toEqual([
      true,
      false,
    ]);
    const shown = await host.run('thread', paths[900]!);
    expect([shown.code, shown.out.trimEnd().split('\n').length]).toEqual([0, paths.length]);
  },
);

it(
  'a summing up that is interrupted remembers nothing, and says which question stands',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat > /dev/null; echo Tuesday' });
    const question = await answered(host, 'On which day?');
    const stop = new AbortController();
    const running = host.runWith({ stop: stop.signal }, 'compact', question, '--by', 'nobody');
    const [asked] = await until('the question', () =>
      bus.from('operator').length === 0 ? undefined : bus.from('operator'),
    );
    stop.abort();
    const ran = await running;
    expect([ran.code, ran.out]).toEqual([130, '']);
    expect(ran.err).toContain(
      `interrupted; nothing was remembered; the question may still be answered, take it back with: crosstalk cancel ${asked!.relPath}\n`,
    );
    expect((await host.run('memory', 'list', '--json')).out).toBe('[]\n');
  },
);
