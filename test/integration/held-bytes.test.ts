// @module-tag long
import { expect, it } from 'vitest';
import { fastImport } from '../support/bulk.ts';
import { Bus } from '../support/bus.ts';
import { Program } from '../support/process.ts';

it('a channel of large messages is scanned and indexed in little memory', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const text = 'a line of no great length\n'.repeat(40_000);
  const files = Array.from({ length: 150 }, (_, n) => {
    const time = `19${String(n).padStart(7, '0')}`;
    const path = `data/channels/${host.channel()}/2026/06/09/${time}Z-0123456789ab.md`;
    const header =
      '---\nfrom: worker\nto: anna\ntype: text\ntimestamp: 2026-06-09T19:00:00Z\n---\n\n';
    return [path, `${header}${text}${String(n)}\n`] as const;
  });
  await fastImport(bus.hub, files);
  // All of the content would be 156 MB.
  const env = { ...host.env, NODE_OPTIONS: '--max-old-space-size=100' };
  for (const args of [
    ['sync'],
    ['dispatch', '--once', '--host', 'front'],
    ['search', 'length', '--limit', '1'],
  ] as const) {
    const program = new Program({ env, dir: host.dir }, ...args);
    const code = await program.ended();
    expect([args[0], code, program.err.slice(-1000)]).toEqual([args[0], 0, expect.anything()]);
  }
});
