import fs from 'node:fs';
import { expect, it } from 'vitest';
import { replaceBuiltin } from '../support/builtin.ts';
import { Bus } from '../support/bus.ts';
import { commitTo } from '../support/copies.ts';
import { byHand } from '../support/history.ts';

let reports = 0;

replaceBuiltin(fs, 'renameSync', (real) => (from, to) => {
  if (String(to).endsWith('heartbeat.json')) reports++;
  real(from, to);
});

/** The number of reports of a pass that reads some messages, of which none is for it. */
async function reportsOf(messages: number): Promise<number> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const all = Array.from({ length: messages }, (_, n) =>
    byHand(host.channel(), n, `message ${String(n)}`, 'nobody'),
  );
  commitTo(bus.hub, Object.fromEntries(all));
  reports = 0;
  await host.once();
  return reports;
}

it('a dispatcher reports in the middle of a long first scan, and not of a short one', async () => {
  const few = await reportsOf(1);
  expect(await reportsOf(501)).toBeGreaterThan(few);
});
