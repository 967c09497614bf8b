// @module-tag long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';

it('a run for what a peer answered that is tried again waits for the one under way for the same goal', async () => {
  const bus = new Bus();
  const gate = join(bus.root, 'gate');
  const failed = join(bus.root, 'failed');
  const boss = `opened() { while [ ! -e ${gate} ]; do sleep 0.05; done; }
case "$CROSSTALK_DISPATCH_RE" in
  *bbbbbbbb*) [ -e ${failed} ] || { touch ${failed}; exit 1; }
    opened; grep -q '^> > sum' || echo sum ;;
  *cccccccc*) opened; echo sum ;;
  *) crosstalk send --to w1 part >&2 ;;
esac`;
  const tier = { cli: boss, count: 3, attempts: 1 };
  const front = await bus.host('front', { boss: { default: tier } });
  front.declare({ w1: 'true' }, 'away');
  const folder = `data/channels/${front.channel()}`;
  await front.send('boss', 'goal', '--from', 'alice');
  await front.once();
  const [task = ''] = bus.from('boss').map(({ relPath }) => relPath);
  const done = (relPath: string, text: string): Record<string, string> => ({
    [`${folder}/${relPath}`]: `---\nfrom: w1\nto: boss@front\ntype: text\ntimestamp: 2026-11-22T12:00:00Z\nre: ${task}\n---\n\n${text}\n`,
  });
  front.edit(done('2099/01/01/000000001Z-bbbbbbbb.md', 'done'));
  await front.once();
  const letters = async (): Promise<{ id: string }[]> => {
    const { out } = await front.run('dlq', '--json');
    return JSON.parse(out) as { id: string }[];
  };
  const [letter] = await letters();
  const running = front.start();
  front.edit(done('2099/01/01/000000002Z-cccccccc.md', 'done again'));
  await running.saw('dispatch_start');
  const ticks = running.count('tick');
  await front.run('dlq', '--retry', letter?.id ?? '');
  await until('another look', () => running.count('tick') > ticks + 1);
  writeFileSync(gate, '');
  await until('the letter is done with', async () => (await letters()).length === 0);
  const answers = (): unknown[] =>
    bus.from('boss').filter(({ message }) => message.re.length > 0 && message.failed === undefined);
  await until('the answer', () => answers().length > 0);
  await running.stop();
  expect(answers()).toHaveLength(1);
});
