import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/message.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { Bus, type Host } from '../support/bus.ts';
import {
  approve,
  asking,
  builder,
  forged,
  place,
  planned,
  proposals,
} from '../support/deciding.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { hasSshKeygen, Key, pins, putFile, signs, WITH_SSH_KEYGEN } from '../support/keys.ts';

let bus: Bus;
let tower: Host;
let channel: string;
beforeEach(async () => {
  bus = new Bus();
  tower = await bus.host('tower', builder());
  channel = tower.channel();
});

/** The questions to anna as this machine knows them, without asking the remote. */
const askingHere = async (): Promise<string> =>
  (await tower.run('inbox', '--questions', '--json', '--from', 'anna')).out;

describe('a proposal waits for its approver', () => {
  it(
    'whatever somebody else writes in their name, on every machine, until one decision counts',
    { tags: 'long' },
    async () => {
      const laptop = await bus.host('laptop', {});
      const { relPath } = await planned(tower);
      const words: Partial<Message>[] = [
        { re: [relPath], to: [{ name: 'carl' }] },
        { re: [relPath], decision: 'approve', decides: 'a'.repeat(64) },
        { re: [relPath], decision: 'deny', host: 'tower' },
        { cause: [relPath], to: [{ name: 'carl' }] },
        { re: [relPath], to: [{ name: 'carl' }], cancels: relPath },
      ];
      tower.edit(
        Object.fromEntries(
          words.map((said, at) => [messageFile(channel, place(at + 1)), forged(said)]),
        ),
      );
      await tower.once();
      expect(await asking(tower)).toEqual([relPath]);
      expect(await asking(laptop)).toEqual([relPath]);
      await tower.run('approve', relPath, '--from', 'anna');
      expect(await asking(tower)).toEqual([]);
      await tower.once();
      expect(await asking(laptop)).toEqual([]);
    },
  );

  it.each(['approve', 'deny'])(
    'until their own %s, which waits in the outbox, is on its way',
    async (decide) => {
      const proposal = await planned(tower);
      bus.unplug();
      const ran = await tower.run(decide, proposal.relPath, '--from', 'anna');
      expect(ran.code, ran.err).toBe(0);
      expect(await askingHere()).toBe('');
      bus.plug();
    },
  );

  it('until its question is taken back, in the outbox of this machine', async () => {
    const asked = await tower.send('anna', 'where are the keys?', '--from', 'carl');
    expect(await askingHere()).toContain(asked);
    bus.unplug();
    await tower.run('cancel', asked, '--from', 'carl');
    expect(await askingHere()).toBe('');
    bus.plug();
  });

  it('beside another one for the same question, on every machine', { tags: 'long' }, async () => {
    const laptop = await bus.host('laptop', {});
    const first = await planned(tower);
    await tower.run('reply', first.relPath, 'and drop the old ones', '--from', 'carl');
    await tower.once();
    const [, second] = proposals(bus);
    expect(second?.message.re).toEqual(first.message.re);
    const both = [first.relPath, second?.relPath].sort();
    expect((await asking(tower)).sort()).toEqual(both);
    expect((await asking(laptop)).sort()).toEqual(both);
    await approve(tower, second!);
    await tower.once();
    await tower.once();
    // The question is answered, so that nothing is left to be decided.
    expect(await asking(tower)).toEqual([]);
    expect(await asking(laptop)).toEqual([]);
  });

  it(
    'and is taken back, for other machines too, once nothing waits for it',
    { tags: 'long' },
    async () => {
      const laptop = await bus.host('laptop', {});
      const { relPath, message } = await planned(tower);
      await tower.run('cancel', message.re[0] ?? '', '--from', 'carl');
      const [, ...rest] = await asking(laptop);
      expect(rest).toEqual([]);
      await tower.once();
      expect(await asking(tower)).toEqual([]);
      expect(await asking(laptop)).toEqual([]);
      const [over] = bus.from('builder').filter(({ message: one }) => one.cancels === relPath);
      expect(over?.message).toMatchObject({ to: [{ name: 'anna' }], re: [relPath], host: 'tower' });
      const late = await laptop.run('approve', relPath, '--from', 'anna');
      expect(late).toMatchObject({
        code: 1,
        err: expect.stringContaining('takes it back') as string,
      });
    },
  );

  it(
    'where it was made, although somebody writes that its actor takes it back',
    { tags: 'long' },
    async () => {
      const proposal = await planned(tower);
      const { relPath } = proposal;
      const over = { from: 'builder', host: 'tower', to: [{ name: 'anna' }], re: [relPath] };
      putFile(tower, channel, place(1), forged({ ...over, cancels: relPath }));
      await tower.once();
      expect(await asking(tower)).toEqual([relPath]);
      await approve(tower, proposal);
      await tower.once();
      const said = bus.from('builder').map(({ message }) => message.body);
      expect(said).toContain('done\n');
    },
  );

  it('before any number of others that somebody has pushed', { tags: 'long' }, async () => {
    const { relPath } = await planned(tower);
    const flood = Array.from({ length: 260 }, (_, at): [string, string] => [
      messageFile(channel, place(at)),
      forged({ from: 'mallory', to: [{ name: 'anna' }], proposal: true, host: 'elsewhere' }),
    ]);
    // What says that it comes from here is known to be a lie.
    const lie = forged({ from: 'builder', to: [{ name: 'anna' }], proposal: true, host: 'tower' });
    tower.edit({ ...Object.fromEntries(flood), [messageFile(channel, place(999))]: lie });
    const found = await asking(tower);
    expect(found[0]).toBe(relPath);
    expect(found).not.toContain(place(999));
  });

  it.skipIf(!hasSshKeygen)(
    `until a signed decision that counts, made on another machine ${WITH_SSH_KEYGEN}`,
    { tags: 'long' },
    async () => {
      const laptop = await bus.host('laptop', {});
      const key = new Key(laptop, 'anna');
      await signs(laptop, key);
      await pins(tower, 'anna', key);
      const { relPath } = await planned(tower);
      putFile(tower, channel, place(1), forged({ re: [relPath], decision: 'approve' }));
      expect(await asking(laptop)).toEqual([relPath]);
      await laptop.run('approve', relPath);
      expect(await asking(laptop)).toEqual([]);
      expect(await asking(tower)).toEqual([]);
    },
  );
});

describe('status', () => {
  it(
    'tells how to decide where a proposal waits, and how to answer where a question does',
    { tags: 'long' },
    async () => {
      await planned(tower);
      const status = (): Promise<string> =>
        tower.runWith({ env: { CROSSTALK_FROM: 'anna' } }, 'status').then(({ out }) => out);
      const decide =
        'decide with: crosstalk approve <message>, or crosstalk deny <message> "<why>"';
      const answer = 'answer with: crosstalk reply <message> "<text>"';
      const before = await status();
      expect(before).toContain(decide);
      expect(before).not.toContain(answer);
      await tower.send('anna', 'where are the keys?', '--from', 'carl');
      const after = await status();
      expect(after).toContain(decide);
      expect(after).toContain(answer);
    },
  );

  it(
    'counts no proposal as mail that nobody serves, and any other message to a stranger',
    { tags: 'long' },
    async () => {
      const { message } = await planned(tower);
      await tower.run('cancel', message.re[0] ?? '', '--from', 'carl');
      await tower.once();
      await tower.send('bulider', 'hello', '--from', 'carl');
      const { unserved } = JSON.parse((await tower.run('status', '--json')).out) as {
        unserved: { name: string }[];
      };
      expect(unserved.map(({ name }) => name)).toEqual(['bulider']);
    },
  );
});

it('a thread marks a proposal and what decides on it', { tags: 'long' }, async () => {
  const proposal = await planned(tower);
  await approve(tower, proposal);
  const shown = await tower.run('thread', proposal.relPath);
  const lines = shown.out.split('\n');
  expect(lines.find((line) => line.includes('builder') && line.includes('proposal'))).toBeDefined();
  expect(
    lines.find((line) => line.includes('anna') && line.includes('decision: approve')),
  ).toBeDefined();
  const tree = (await tower.run('thread', proposal.relPath, '--json')).out;
  expect(tree).toMatch(/"proposal": ?true/);
  expect(tree).toMatch(/"decision": ?"approve"/);
});

it(
  'an index of the version before is replaced without a word, and knows every proposal',
  { tags: 'long' },
  async () => {
    const { relPath } = await planned(tower);
    expect(await asking(tower)).toEqual([relPath]);
    const file = join(tower.state, 'index.db');
    // As the version before has left it: it knows no message by its tags for proposals.
    const database = new DatabaseSync(file);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.exec('DELETE FROM texts; DELETE FROM messages; PRAGMA user_version = 2');
    database.close();
    // Another process, as a program of the next version is.
    const program = new Program(tower, 'inbox', '--questions', '--json', '--from', 'anna');
    expect([await program.ended(), program.err]).toEqual([0, '']);
    expect(program.out).toContain(relPath);
    const found = new Program(tower, 'search', '--json', 'tables');
    expect(await found.ended()).toBe(0);
    expect(found.out).toContain('move the tables');
  },
);

it(
  'a flood of forged decisions is read once, however often it is looked at',
  { tags: 'long' },
  async () => {
    const FLOOD = 300;
    const { relPath } = await planned(tower);
    const running = tower.start();
    const flood = Array.from({ length: FLOOD }, (_, at): [string, string] => [
      messageFile(channel, place(at)),
      forged({ re: [relPath], decision: 'approve', decides: 'a'.repeat(64) }),
    ]);
    tower.edit(Object.fromEntries(flood));
    const LOOKS = 12;
    for (let look = 0; look < LOOKS; look++) {
      const tip = git(bus.hub, 'rev-parse', 'main').trim();
      await running.saw('tick', (one) => one['tip'] === tip);
      tower.edit({ 'README.md': `look ${String(look)}\n` });
    }
    await running.stop();
    const { objects_read: read } = await running.saw('dispatcher_stopped');
    // By the intake, by whoever follows the links of the thread, and as a decision.
    expect(read).toBeLessThan(FLOOD * 10);
  },
);
