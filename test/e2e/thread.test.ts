import { renameSync } from 'node:fs';
import { expect, it } from 'vitest';
import { suffixOf } from '../../src/protocol/layout.ts';
import { Bus, type Host } from '../support/bus.ts';
import type { WebThread, WebThreadNode } from '../../src/api/api.ts';

async function threadOf(host: Host, message: string): Promise<WebThread> {
  const ran = await host.run('thread', message, '--json');
  expect(ran.err).toBe('');
  return JSON.parse(ran.out) as WebThread;
}

/** `from → to: actor state`, indented by depth. */
function outline(nodes: readonly WebThreadNode[], indent = ''): string[] {
  return nodes.flatMap((node) => [
    `${indent}${node.from} → ${node.to.join(',')}: ${node.states.map(({ actor, state }) => `${actor} ${state}`).join(', ')}`,
    ...outline(node.children, `${indent}  `),
  ]);
}

it(
  'a delegation is a tree, the same from every message of it and on every machine',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const front = await bus.host('front', {
      concierge: `if grep -q 'from: worker'; then echo the answer; else crosstalk send --to worker 'please look' > /dev/null; fi`,
    });
    const back = await bus.host('back', { worker: 'echo looked' });
    const question = await front.send('concierge', 'what is it?', '--from', 'me');
    await front.once();
    expect(outline((await threadOf(front, question)).roots)).toEqual([
      'me → concierge: concierge answered',
      '  concierge → worker: worker waiting',
    ]);
    await back.once();
    await front.once();

    const whole = [
      'me → concierge: concierge answered',
      '  concierge → worker: worker answered',
      '    worker → concierge@front: concierge answered',
      '  concierge → me: ',
    ];
    const seen = await threadOf(back, question);
    expect(outline(seen.roots)).toEqual(whole);
    const worker = bus.from('worker')[0]!.relPath;
    expect(outline((await threadOf(front, worker)).roots)).toEqual(whole);

    const drawn = (await front.run('thread', question)).out;
    expect(drawn).toMatch(
      /^me → concierge {2}\w+ {2}concierge answered after \d+ s {2}what is it\?\n├─ concierge → worker .*\n│ {2}└─ worker → concierge@front .*\n└─ concierge → me .*\n$/,
    );
  },
);

it('names the answer to several messages, which stands below one of them', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat > /dev/null; echo all of it' });
  const asked: string[] = [];
  for (const body of ['one', 'two', 'three'])
    asked.push(await host.send('worker', body, '--from', 'me'));
  await host.once();
  const [answer] = bus.from('worker');
  expect(answer?.message.re).toHaveLength(3);
  const name = suffixOf(answer!.relPath);
  const drawn = await Promise.all(asked.map((one) => host.run('thread', one)));
  for (const [at, { out }] of drawn.entries()) {
    const line = out.split('\n').find((one) => one.includes(suffixOf(asked[at]!))) ?? '';
    const stands = out.includes(`${line}\n└─ worker → me  ${name}`);
    expect(stands || line.includes(`, in ${name}`), out).toBe(true);
  }
});

it('explain tells a task that was passed on from an answer', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    concierge: `if grep -q 'from: worker'; then echo done; else crosstalk send --to worker 'look' > /dev/null; fi`,
    worker: 'echo looked',
  });
  const question = await host.send('concierge', 'what is it?', '--from', 'me');
  const state = async (): Promise<string> =>
    (await host.run('explain', question, 'concierge')).out.split('state: ')[1] ?? '';
  for (let passes = 0; passes < 3; passes++) await host.once();
  const [task = '', answer = ''] = bus.from('concierge').map(({ relPath }) => relPath);
  expect(await state()).toContain(`passed on by ${task}, answered by ${answer}`);
});

it('says of each open message where it is: queued, failed here', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    broken: 'exit 3',
    quiet: 'true',
  });
  const failing = await host.send('broken', 'try this', '--from', 'me');
  await host.once();
  expect(outline((await threadOf(host, failing)).roots)).toEqual(['me → broken: broken failed']);
  const letter = (await host.run('dlq')).out.split(' ')[0]!;
  expect((await host.run('thread', failing)).out).toContain(`failed, dead letter ${letter} here`);

  renameSync(bus.hub, `${bus.hub}.away`);
  const queued = await host.run('send', '--no-wait', '--to', 'quiet', '--from', 'me', 'later');
  const relPath = /^Queued: (.+)$/m.exec(queued.out)![1]!;
  const shown = JSON.parse((await host.run('thread', relPath, '--json')).out) as WebThread;
  expect(outline(shown.roots)).toEqual(['me → quiet: quiet queued']);
});

it('a loop of messages that name one another is no loop to follow', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const folder = `data/channels/${host.channel()}`;
  const [one, two] = ['2025/01/01/120000001Z-00000001.md', '2025/01/01/120000002Z-00000002.md'];
  const text = (from: string, re: string): string =>
    `---\nfrom: ${from}\nto: x\ntype: text\ntimestamp: 2025-01-01T12:00:00Z\nre: ${re}\n---\n\nhello\n`;
  host.edit({ [`${folder}/${one}`]: text('a', two), [`${folder}/${two}`]: text('b', one) });
  await host.run('sync');
  expect(outline((await threadOf(host, two)).roots)).toEqual(['a → x: ', '  b → x: ']);
});
