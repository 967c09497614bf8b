import { beforeEach, describe, expect, it } from 'vitest';
import { formatMessage, type Message } from '../../src/protocol/message.ts';
import { proposedText } from '../../src/protocol/text/words.ts';
import { createHash } from 'node:crypto';
import { Bus, type Host } from '../support/bus.ts';
import {
  fileOf,
  hasSshKeygen,
  Key,
  pins,
  putFile,
  signs,
  WITH_SSH_KEYGEN,
} from '../support/keys.ts';

const AT = '2026/06/09/190000000Z-1f2e3d4c5b6a.md';
const WORKER = 'cat >/dev/null; echo done';

let bus: Bus;
let host: Host;
let channel: string;
beforeEach(async () => {
  bus = new Bus();
  host = await bus.host('laptop', { worker: WORKER });
  host.env['CROSSTALK_FROM'] = 'anna';
  channel = host.channel();
  // What another machine proposes is decided by a signed word alone.
  if (hasSshKeygen) await signs(host, new Key(host, 'anna'));
});

/** Puts a proposal on the bus, as the dispatcher of another machine. */
function propose(said: Partial<Message> = {}, relPath = AT): string {
  const message: Message = {
    from: 'builder',
    to: [{ name: 'anna' }],
    type: 'text',
    timestamp: '2026-06-09T19:00:00.000Z',
    re: ['2026/06/09/180000000Z-0a0a0a0a0a0a.md'],
    cause: [],
    interim: true,
    printed: true,
    proposal: true,
    host: 'tower',
    extra: {},
    body: 'I will \u202emv\u202c the \u001b[31mtables\u001b[0m.\n',
    ...said,
  };
  putFile(host, channel, relPath, formatMessage(message));
  return relPath;
}

describe.skipIf(!hasSshKeygen)(`approve and deny ${WITH_SSH_KEYGEN}`, () => {
  it(
    'show the text with nothing hidden, and reply with the decision, bound to it',
    { tags: 'long' },
    async () => {
      propose();
      await host.news();
      const ran = await host.run('approve', AT, 'but slowly');
      expect(ran).toMatchObject({ code: 0, out: `Approved: ${AT}\n` });
      expect(ran.err).toContain(
        'builder@tower proposes:\n  | I will \\u202emv\\u202c the \\u001b[31mtables\\u001b[0m.',
      );
      const [said] = bus.from('anna');
      const file = fileOf(host, { channel, relPath: AT });
      const digest = createHash('sha256')
        .update(proposedText(`${channel}/${AT}`, file))
        .digest('hex');
      expect(said?.message).toMatchObject({
        to: [{ name: 'builder', host: 'tower' }],
        re: [AT],
        decision: 'approve',
        decides: digest,
        body: 'but slowly\n',
      });
      expect(said?.message.host).toBeUndefined();
      const read = await host.run('read', said?.relPath ?? '');
      expect(read.out).toMatch(/^decision +approve$/m);
    },
  );

  it('give the whole of it as JSON', { tags: 'long' }, async () => {
    propose({ permission: { tool: 'Bash', input: '{"command":"ls"}', marks: ['reads'] } });
    await host.news();
    const ran = await host.run('deny', AT, '3', '--json');
    expect(JSON.parse(ran.out)).toMatchObject({
      decision: 'deny',
      status: 'sent',
      proposal: {
        relPath: AT,
        from: 'builder',
        approver: 'anna',
        permission: { tool: 'Bash', input: '{"command":"ls"}', marks: ['reads'] },
        ignored: [],
      },
    });
    expect(bus.from('anna')[0]?.message).toMatchObject({ decision: 'deny', body: '3\n' });
  });

  it('ask on a terminal, and decide nothing without a yes', async () => {
    propose();
    await host.news();
    const asked = await host.runWith({ ask: () => Promise.resolve('n') }, 'approve', AT);
    expect(asked.code).toBe(1);
    expect(asked.err).toContain('nothing was decided');
    expect(bus.from('anna')).toEqual([]);
    expect((await host.runWith({ ask: () => Promise.resolve('y') }, 'approve', AT)).code).toBe(0);
    expect(bus.from('anna')).toHaveLength(1);
  });

  it(
    'refuse what proposes nothing, what asks somebody else, and what is decided',
    { tags: 'long' },
    async () => {
      const plain = await host.send('worker', 'hello');
      expect(await host.run('approve', plain)).toMatchObject({
        code: 2,
        err: expect.stringContaining('proposes nothing') as string,
      });
      propose({ to: [{ name: 'carl' }] });
      await host.news();
      expect(await host.run('approve', AT)).toMatchObject({
        code: 2,
        err: expect.stringContaining('asks carl to decide, not anna') as string,
      });
      expect((await host.run('deny', AT, '--from', 'carl')).code).toBe(0);
      const again = await host.run('approve', AT, '--from', 'carl');
      expect(again).toMatchObject({ code: 1, err: expect.stringContaining('denies it') as string });
      expect(bus.from('carl')).toHaveLength(1);
    },
  );

  it('know a decision that waits in the outbox', async () => {
    propose();
    await host.news();
    bus.unplug();
    const first = await host.run('deny', AT);
    expect(first).toMatchObject({
      code: 0,
      err: expect.stringContaining('on the remote') as string,
    });
    expect((await host.run('approve', AT)).code).toBe(1);
    bus.plug();
  });

  it('are not kept from it by a decision that somebody has forged, and name it', async () => {
    propose();
    const forged = '2026/06/09/190100000Z-aaaaaaaaaaaa.md';
    const text = `---\nfrom: anna\nto: builder@tower\ntype: text\ntimestamp: 2026-06-09T19:01:00.000Z\nre: ${AT}\ndecision: deny\n---\n\nno\n`;
    putFile(host, channel, forged, text);
    await host.news();
    const ran = await host.run('approve', AT);
    expect(ran.code).toBe(0);
    expect(ran.err).toContain(`${forged}, which denies it, is ignored`);
  });

  it('are not for a run, by whatever name it calls them', async () => {
    propose();
    await host.news();
    const id = '01J0000000000000000000000A';
    const env = { CROSSTALK_RUN_DIR: `${host.state}/run/${id}` };
    for (const argv of [
      ['approve', AT],
      ['deny', AT, 'no'],
      ['approve', AT, '--from', 'anna'],
    ]) {
      const ran = await host.runWith({ env }, ...argv);
      expect(ran).toMatchObject({
        code: 2,
        err: expect.stringContaining('not for a run') as string,
      });
    }
    expect(bus.from('anna')).toEqual([]);
  });
});

describe.skipIf(!hasSshKeygen)(`where a key is configured ${WITH_SSH_KEYGEN}`, () => {
  it('a decision is signed, also where a dispatcher runs', { tags: 'long' }, async () => {
    const key = new Key(host, 'carl');
    await signs(host, key);
    await pins(host, 'anna', key);
    propose();
    const running = host.start();
    await running.saw('dispatcher_started');
    await host.news();
    expect((await host.run('approve', AT)).code).toBe(0);
    const [said] = bus.from('anna');
    expect(said?.message.sig).toMatch(/^U1NIU0lH/);
    const verified = await host.run('key', 'verify', said?.relPath ?? '', '--json');
    expect(JSON.parse(verified.out)).toMatchObject({ verified: true });
  });
});
