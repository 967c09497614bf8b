import { expect, it } from 'vitest';
import { WorkspaceSweep } from '../../src/dispatcher/workspace-sweep.ts';

/** What is removed where a channel has so many recent messages, and one workspace of it was not used lately. */
async function removedWith(messages: number): Promise<string[]> {
  const removed: string[] = [];
  const none = (): Promise<never[]> => Promise.resolve([]);
  const sweep = new WorkspaceSweep({
    workspaces: {
      unusedSince: () =>
        Promise.resolve([{ record: { actor: 'worker', root: 'root', channel: 'busy' } }]),
      removeUnused: () => {
        removed.push('root');
        return Promise.resolve(true);
      },
    },
    reader: {
      channels: () => Promise.resolve([{ id: 'busy' }]),
      since: () => Promise.resolve(Array.from({ length: messages })),
      messages: none,
      chain: none,
    },
    deliveries: { mailboxes: { unsettled: () => [] } },
    deadLetters: { all: none },
    transcribing: { sweep: none },
    worktrees: { all: none },
    sessions: { kept: { sweep: none }, warm: { keeps: () => false } },
    log: () => undefined,
    now: () => new Date(),
    environment: {},
  } as never);
  sweep.tidy('tip');
  await sweep.finish();
  return removed;
}

it('no workspace is removed in a channel with more messages than are looked through', async () => {
  expect(await removedWith(0)).toEqual(['root']);
  expect(await removedWith(5001)).toEqual([]);
});
