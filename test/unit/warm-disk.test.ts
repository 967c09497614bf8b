import { expect, test } from 'vitest';
import type { AcpWay } from '../../src/agents/sessions/warm-of.ts';
import type { AgentProcess } from '../../src/dispatcher/sessions/pooled-process.ts';
import { WarmSessions } from '../../src/dispatcher/sessions/warm-sessions.ts';
import type { KeptProcesses } from '../../src/state/sessions/agent-sessions.ts';
import { until } from '../support/wait.ts';

test('a process whose record a full disk refuses ends all the same when it has waited long enough', async () => {
  let isFull = false;
  let isClosed = false;
  const records = {
    put: () => (isFull ? Promise.reject(new Error('ENOSPC')) : Promise.resolve()),
    remove: () => Promise.resolve(),
  } as unknown as KeptProcesses;
  const warm = new WarmSessions(
    {
      keptProcesses: records,
      newId: () => '01JABCDEFGHJKMNPQRSTVWXYZ0',
      now: () => new Date('2026-11-25T12:00:00Z'),
      log: () => undefined,
    },
    {
      most: () => 8,
      elsewhere: () => Promise.resolve({ count: 0, idle: [] }),
      memory: () => Infinity,
      idle: 10,
      look: 60_000,
    },
  );
  const owner = { actor: 'worker', channel: 'c', root: 'r.md' };
  const way = { agent: 'gemini' } as AcpWay;
  const seat = {
    cli: { isOpen: true, pid: undefined },
    close: () => {
      isClosed = true;
      return Promise.resolve();
    },
  } as unknown as AgentProcess;
  expect(warm.claim(owner)).toBe(true);
  const kept = await warm.begin(owner, 'default', way);
  await kept?.take(seat, { pid: 1, started: 'x' });
  isFull = true;
  const session = {
    ...owner,
    ...{ agent: 'gemini', session: 's', tier: 'default', made: 'm', turns: 1, known: [] },
    ...{ last: 'm', told: {}, used: '2026-11-25T12:00:00.000Z' },
  };
  await expect(warm.put(session)).rejects.toThrow('ENOSPC');
  await until('the end of the process', () => isClosed);
});
