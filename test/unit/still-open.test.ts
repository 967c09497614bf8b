import { expect, it } from 'vitest';
import { OwnMessages } from '../../src/dispatcher/intake/own-messages.ts';
import { stillOpen } from '../../src/dispatcher/intake/still-open.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { said } from '../support/messages.ts';

const CHANNEL = '11111111-1111-4111-8111-111111111111';

it.each([2, 1200])(
  'of %i replies that came before the answer of whom they woke none is open, whatever their names say',
  async (count) => {
    const question = said(count + 3, 'alice', 'worker');
    const task = said(count + 2, 'worker', 'peer', { cause: [count + 3] });
    const replies = Array.from({ length: count }, (_, n) =>
      said(n + 2, 'peer', 'worker', { re: [count + 2] }),
    );
    const answer = said(1, 'worker', 'alice', { re: [count + 3] });
    const all = [question, task, ...replies, answer];
    const byPath = new Map(all.map(({ relPath, message }) => [relPath, message]));
    const history = all.map(({ relPath }) => messageFile(CHANNEL, relPath));
    const sources = {
      reader: { chain: () => Promise.resolve((ref: string) => byPath.get(ref)) },
      transport: {
        order: (_since: unknown, _tip: string, paths: readonly string[]) =>
          Promise.resolve(history.filter((path) => paths.includes(path))),
      },
    } as unknown as Parameters<typeof stillOpen>[0];
    const own = new OwnMessages();
    for (const located of [task, answer]) own.add(CHANNEL, located);
    const asked = { actor: 'worker', channel: CHANNEL, tip: 'tip' };
    expect((await stillOpen(sources, asked, replies, own)).size).toBe(0);
  },
);
