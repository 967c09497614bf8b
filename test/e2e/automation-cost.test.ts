import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { billed } from '../support/passes.ts';

const SKILL = '---\nname: tidy\ndescription: puts things in order\n---\nPut it in order.\n';

function subscription(source: string, to: string, body: string): string {
  return `---\nsource: ${source}\nto: ${to}\n---\n${body}\n`;
}

/** Passes of a dispatcher until nothing is written any more. */
async function settle(bus: Bus, host: Host): Promise<void> {
  for (let round = 0; round < 12; round++) {
    const before = bus.messages().length;
    await host.once();
    if (bus.messages().length === before) return;
  }
  throw new Error('no rest');
}

/** The rows of a bill as names and numbers of runs, in alphabetical order. */
async function rowsOf(host: Host, by: string): Promise<[string, number][]> {
  const ran = await host.run('cost', '--by', by, '--json');
  expect(ran.code, ran.err).toBe(0);
  const { rows } = JSON.parse(ran.out) as { rows: { what: string; runs: number }[] };
  return rows.map(({ what, runs }): [string, number] => [what, runs]).sort();
}

it(
  'runs are counted for the skill that they are told, and for the subscription that led to them',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: billed(), next: billed(), last: billed() });
    host.edit({
      'local/skills/tidy/SKILL.md': SKILL,
      'local/subscriptions/after.md': subscription('answer:worker', 'next', '/tidy'),
      'local/subscriptions/build.md': subscription('event:red', 'last', 'look:'),
    });
    await host.send('worker', '/tidy the desk');
    await settle(bus, host);
    // A name that no skill has is none that was told.
    await host.send('last', '/tmp is full', '--new');
    expect((await host.run('event', 'publish', 'red', 'it is red')).code).toBe(0);
    await settle(bus, host);
    // What is damaged in a line costs nothing but that.
    const folder = join(host.state, 'ledger');
    const [month = ''] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
    const text = readFileSync(join(folder, month), 'utf8');
    const line = text.split('\n').find((one) => one.includes('"skills"')) ?? '';
    const odd = { ...(JSON.parse(line) as object), id: 'odd', skills: 'tidy', subscription: 7 };
    appendFileSync(join(folder, month), `\n${JSON.stringify(odd)}\n`);

    expect(await rowsOf(host, 'skill')).toEqual([
      ['(no skill)', 3],
      ['tidy', 2],
    ]);
    expect(await rowsOf(host, 'subscription')).toEqual([
      ['(no subscription)', 3],
      ['after', 1],
      ['build', 1],
    ]);
    // The line of a run that has nothing to do with either is as it was.
    const plain = text.split('\n').filter((one) => one.includes('"actor":"last"'));
    expect(plain.filter((one) => one.includes('"subscription":"build"'))).toHaveLength(1);
    expect(plain.filter((one) => /skills|subscription/.test(one))).toHaveLength(1);
    expect(plain).toHaveLength(2);
  },
);

it(
  'of other hosts a skill counts where it is there and was asked for',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {});
    const back = await bus.host('back', { worker: billed(), next: billed() });
    front.edit({
      'local/skills/tidy/SKILL.md': SKILL,
      'local/subscriptions/after.md': subscription('answer:worker', 'next', 'go on:'),
    });
    await front.send('worker', '/tidy the desk');
    await front.send('next', '/tmp is full', '--new');
    await settle(bus, back);
    expect(await rowsOf(front, 'skill')).toEqual([
      ['(no skill)', 2],
      ['tidy', 1],
    ]);
    expect(await rowsOf(front, 'subscription')).toEqual([
      ['(no subscription)', 2],
      ['after', 1],
    ]);
  },
);

it('a message that asks for a skill is explained, with the file or with the reason why it is not told', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done', other: 'echo done' });
  host.edit({
    'local/skills/tidy/SKILL.md': SKILL,
    'local/skills/odd/SKILL.md': 'no header',
    'local/actors/other.md': '---\nname: other\ndescription: x\nskills: [review]\n---\nYou.\n',
    'local/subscriptions/build.md': subscription('event:red', 'worker', '/tidy'),
  });
  const asked = await host.send('worker', '/tidy the desk');
  const explained = await host.run('explain', asked, 'worker');
  expect(explained.out).toContain('\n  asks for skill tidy (local/skills/tidy/SKILL.md)\n');
  const narrowed = await host.run('explain', asked, 'other', '--json');
  expect(JSON.parse(narrowed.out)).toMatchObject({
    asks_for: {
      name: 'tidy',
      path: null,
      problem: 'the profile of other says that it takes only review',
    },
  });
  const broken = await host.send('worker', '/odd one');
  expect((await host.run('explain', broken, 'worker')).out).toMatch(
    /\n {2}asks for skill odd, which is not told: local\/skills\/odd\/SKILL\.md cannot be read: /,
  );
  const unknown = await host.send('worker', '/tmp is full');
  expect((await host.run('explain', unknown, 'worker')).out).toMatch(
    /\n {2}asks for skill tmp, which is not told: there is no skill of that name; there are .*tidy/,
  );
  const plain = await host.send('worker', '/tmp/x is full');
  expect((await host.run('explain', plain, 'worker', '--json')).out).not.toContain('asks_for');

  expect((await host.run('thread', asked)).out).toContain(
    'asks for skill tidy (local/skills/tidy/SKILL.md)',
  );
  expect((await host.run('thread', unknown)).out).toContain(
    'asks for skill tmp (there is none of that name)',
  );
  const told = await host.run('event', 'publish', 'red', 'it is red', '--json');
  const { tasks } = JSON.parse(told.out) as { tasks: { relPath: string }[] };
  const task = tasks[0]?.relPath ?? '';
  expect((await host.run('thread', task)).out).toMatch(
    /by build on event red {2}asks for skill tidy \(local/,
  );
  expect(JSON.parse((await host.run('thread', task, '--json')).out)).toMatchObject({
    roots: [{ subscription: 'build', event: 'red', asks_for: { name: 'tidy' } }],
  });
});
