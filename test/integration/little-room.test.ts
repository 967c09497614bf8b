import fs from 'node:fs/promises';
import { expect, it } from 'vitest';
import { replaceBuiltin } from '../support/builtin.ts';
import { Bus, events } from '../support/bus.ts';

const disk = { free: Infinity };

replaceBuiltin(fs, 'statfs', (real) => {
  const statfs = async (path: string): Promise<object> => {
    const { bavail, bsize } = await real(path);
    return { bsize: 1, bavail: Math.min(disk.free, bavail * bsize) };
  };
  return statfs as typeof real;
});

it('a single pass ends although there is too little room for a run, and the mail stays', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'hello');
  disk.free = 7 * 1024 * 1024;
  const ran = await host.run('dispatch', '--once', '--host', 'front');
  expect(ran.code).toBe(1);
  expect(ran.err).toMatch(
    /^crosstalk dispatch: mail is left waiting: ENOSPC: less than 8 MiB is free at \S+; make room; nothing is lost, try again$/m,
  );
  const log = events(ran.err).map(({ event }) => event);
  expect(log.filter((event) => event === 'dispatch_start')).toHaveLength(3);
  expect(bus.from('worker')).toEqual([]);

  disk.free = Infinity;
  await host.once();
  expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['done\n']);
});

it('a dispatcher that serves goes on trying while there is too little room for a run', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const question = await host.send('worker', 'hello');
  disk.free = 7 * 1024 * 1024;
  const running = host.start();
  const seen = new Set<unknown>();
  await running.saw('dispatch_start', ({ id }) => seen.add(id).size > 4);
  expect(bus.from('worker')).toEqual([]);
  disk.free = Infinity;
  expect((await host.run('replies', '--wait', '--timeout', '100', question)).out).toContain('done');
});
