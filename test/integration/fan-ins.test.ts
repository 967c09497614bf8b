import { expect, it } from 'vitest';
import { QuestionLocks } from '../../src/dispatcher/question-locks.ts';
import { openTransport } from '../../src/actions/context.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { Bus, scratch } from '../support/bus.ts';
import { byHand, put, tipOf } from '../support/history.ts';

it.each(['put here', 'found at a start'])(
  'an answer that left the outbox (%s) holds back its question until the scan has it, also one that no run of this process gave',
  async (how) => {
    const bus = new Bus();
    const host = await bus.host('front', { boss: 'true' });
    const channel = host.channel();
    const question = byHand(channel, 1, 'start', 'boss');
    put(bus, question);
    const relPath = question[0].split('/').slice(3).join('/');
    const { transport } = await openTransport(host.dir, { ...process.env, ...host.env });
    await transport.refresh();
    const [path, text] = byHand(channel, 2, 'summary', 'alice');
    const content = text
      .replace('from: alice', 'from: boss')
      .replace('---\n\n', `re: ${relPath}\n---\n\n`);
    const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
    const author = { name: 'boss', email: 'boss@front.crosstalk.local' };
    const commits = [
      { at: '2026-06-09T19:00:00Z', author, subject: 'a reply', files: [{ path, content }] },
    ];
    const entry = { id, commits, delivery: { actor: 'boss', channel, messages: [relPath] } };
    const folder = scratch();
    if (how !== 'put here') await new Outbox(folder).put(entry);
    const outbox = new Outbox(folder);
    const fanIns = new QuestionLocks({ outbox, transport });
    if (how === 'put here') await outbox.put(entry);
    else await outbox.all();

    const scanned = tipOf(bus);
    put(bus, [path, content]);
    await transport.refresh();
    await outbox.remove(id);
    const goal = { actor: 'boss', questions: [`${channel}/${relPath}`] };
    expect(await fanIns.mayBegin({ ...goal, actor: 'worker' }, scanned)).toBe(true);
    expect(await fanIns.mayBegin(goal, scanned)).toBe(false);
    expect(await fanIns.mayBegin(goal, tipOf(bus))).toBe(true);
  },
);
