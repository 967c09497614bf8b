import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatMessage, type Message } from '../../src/protocol/message.ts';
import { payloadOf, placeSigned, withSignature } from '../../src/protocol/signed.ts';
import { Bus, type Host } from '../support/bus.ts';
import {
  counts,
  hasSshKeygen,
  Key,
  pins,
  putFile,
  signedFile,
  WITH_SSH_KEYGEN,
} from '../support/keys.ts';

const AT = '2026/06/09/190000000Z-1f2e3d4c5b';
const FIRST = `${AT}60.md`;
const OPTIONS = ['ship it', 'wait'];

let host: Host;
let anna: Key;
let channel: string;
beforeEach(async () => {
  host = await new Bus().host('laptop', { worker: 'cat >/dev/null; echo done' });
  channel = host.channel();
  if (!hasSshKeygen) return;
  anna = new Key(host, 'anna');
  await pins(host, 'anna', anna);
});

const said = (
  more: Partial<Message> = {},
): Pick<Message, 'from' | 'to' | 'body'> & Partial<Message> => ({
  from: 'anna',
  to: [{ name: 'worker' }],
  body: 'pay 100\n',
  options: OPTIONS,
  ...more,
});

/** What this machine says of a message. */
async function verified(relPath = FIRST): Promise<boolean | undefined> {
  await host.news();
  const read = await host.run('read', relPath, '--json');
  expect(read.code, read.err).toBe(0);
  return (JSON.parse(read.out) as { verified?: boolean }).verified;
}

const good = (): string => signedFile(anna, channel, FIRST, said());

describe.skipIf(!hasSshKeygen)(`whoever can push ${WITH_SSH_KEYGEN}`, () => {
  it('takes nothing back under a pinned name without its key', async () => {
    const takesBack = (question: string): ReturnType<typeof said> =>
      said({ body: 'stop\n', options: [], re: [question], cancels: question });
    const unsigned = (question: string): string =>
      formatMessage({
        type: 'text',
        timestamp: '2026-06-09T19:00:00.000Z',
        re: [],
        cause: [],
        extra: {},
        ...takesBack(question),
      });
    const [second, third] = [`${AT}61.md`, `${AT}62.md`];
    putFile(host, channel, FIRST, good());
    putFile(host, channel, `${AT}70.md`, unsigned(FIRST));
    putFile(host, channel, second, signedFile(anna, channel, second, said()));
    putFile(host, channel, third, signedFile(anna, channel, third, takesBack(second)));
    await host.news();
    expect((await host.run('thread', FIRST)).out).toContain('waiting for worker');
    expect((await host.run('explain', FIRST, 'worker')).out).not.toContain('cancelled');
    const log = await host.once();
    expect(log.filter(({ event }) => event === 'cancel_ignored')).toMatchObject([
      { cancels: FIRST, reason: 'its writer, whose key is pinned here, has not signed it' },
    ]);
    expect((await host.run('replies', FIRST)).out).toContain(`REPLIED ${FIRST}`);
    expect((await host.run('replies', second)).out).toContain(
      `FAILED ${second}\n  cancelled by anna\n`,
    );
  });

  it('is not believed under a pinned name without its key', async () => {
    const mallory = new Key(host, 'mallory');
    const unsigned = formatMessage({
      type: 'text',
      timestamp: '2026-06-09T19:00:00.000Z',
      re: [],
      cause: [],
      extra: {},
      ...said(),
    });
    putFile(host, channel, FIRST, unsigned);
    putFile(host, channel, `${AT}61.md`, signedFile(mallory, channel, `${AT}61.md`, said()));
    putFile(
      host,
      channel,
      `${AT}62.md`,
      signedFile(mallory, channel, `${AT}62.md`, said({ from: 'mallory' })),
    );
    putFile(host, channel, `${AT}63.md`, good());
    await pins(host, 'bob', mallory);
    putFile(
      host,
      channel,
      `${AT}64.md`,
      signedFile(mallory, channel, `${AT}64.md`, said({ from: 'anna' })),
    );
    for (const [at, expected] of [
      ['60', false],
      ['61', false],
      ['62', undefined],
      ['63', false],
      ['64', false],
    ] as const)
      expect(await verified(`${AT}${at}.md`), at).toBe(expected);
  });

  it('cannot put a signed message into another channel, or at another path', async () => {
    const made = await host.run('channel', 'create', 'other');
    const other = made.out.trim().split('\n').at(-1) ?? '';
    putFile(host, channel, FIRST, good());
    putFile(host, other, `${AT}61.md`, good());
    putFile(host, channel, `${AT}62.md`, good());
    expect(await verified()).toBe(true);
    expect(await verified(`${AT}61.md`)).toBe(false);
    expect(await verified(`${AT}62.md`)).toBe(false);
  });

  it(
    'cannot change a byte of it: body, recipient, link, option, time, or a field that nobody knows',
    { tags: 'long' },
    async () => {
      const whole = signedFile(
        anna,
        channel,
        FIRST,
        said({ re: [`${AT}50.md`], extra: { plan: 'b' } }),
      );
      const changes: [string, string][] = [
        ['pay 100', 'pay 900'],
        ['pay 100\n', 'pay 100\n\n'],
        ['to: worker', 'to: worked'],
        ['from: anna', 'from: Anna'],
        [`${AT}50.md`, `${AT}51.md`],
        ['- wait', '- waiT'],
        ['19:00:00.000Z', '19:00:00.001Z'],
        ['plan: b', 'plan: c'],
        ['plan: b\n', 'plan: b\ntier: large\n'],
        ['plan: b\n', 'plan: b\ncancels: 2026/06/09/190000000Z-00000000.md\n'],
        ['plan: b\n', ''],
        ['options:', 'Options:'],
        ['---\n\n', '---\n'],
      ];
      putFile(host, channel, FIRST, whole);
      expect(await verified()).toBe(true);
      for (const [before, after] of changes) {
        expect(whole, before).toContain(before);
        putFile(host, channel, FIRST, whole.replace(before, after));
        const now = await verified();
        // Another spelling of the name is another name, of which no key is pinned.
        expect(now, after).toBe(before.startsWith('from') ? undefined : false);
      }
    },
  );

  it(
    'cannot move the signature to where it changes what the header means',
    { tags: 'long' },
    async () => {
      const whole = signedFile(anna, channel, FIRST, said({ re: [`${AT}50.md`, `${AT}51.md`] }));
      const line = /sig: .*\n/.exec(whole)?.[0] ?? '';
      const rest = whole.replace(line, '');
      for (
        let at = rest.indexOf('\n') + 1;
        at <= rest.indexOf('\n---\n') + 1;
        at = rest.indexOf('\n', at) + 1
      ) {
        const moved = rest.slice(0, at) + line + rest.slice(at);
        putFile(host, channel, FIRST, moved);
        await host.news();
        const read = await host.run('read', FIRST, '--json');
        const isThere = read.code === 0 && (JSON.parse(read.out) as { verified: boolean }).verified;
        expect(isThere, moved).toBe(moved === whole);
      }
    },
  );

  it(
    'gains nothing by a signature that is none, or of another purpose, and starts no process by it',
    { tags: 'long' },
    async () => {
      const text = formatMessage({
        type: 'text',
        timestamp: '2026-06-09T19:00:00.000Z',
        re: [],
        cause: [],
        extra: {},
        ...said(),
      });
      const payload = payloadOf(placeSigned(anna.identity, { channel, relPath: FIRST }), text);
      const started = counts(host);
      const odd = [
        'A'.repeat(8192),
        'A'.repeat(60_000),
        'U1NIU0lH',
        Buffer.from(`SSHSIG\0\0\0\u0001${'\u00ff'.repeat(400)}`, 'latin1').toString('base64'),
        '-----BEGIN SSH SIGNATURE-----',
        anna.sign(payload, 'git'),
        anna.sign(payload, 'file'),
      ];
      for (const sig of odd) {
        putFile(host, channel, FIRST, withSignature(text, sig));
        expect(await verified(), sig.slice(0, 40)).toBe(false);
      }
      const broken = [
        'sig: |\n  -----BEGIN SSH SIGNATURE-----\n',
        'sig: [a, b]\n',
        'sig: {a: b}\n',
      ];
      for (const line of broken) {
        putFile(host, channel, FIRST, text.replace('\n---\n', `\n${line}---\n`));
        expect(await verified(), line).toBe(false);
      }
      expect(started()).toBe(0);
      expect((await host.run('status')).code).toBe(0);
    },
  );

  it('cannot have a verdict of one message believed of another that takes its place', async () => {
    putFile(host, channel, FIRST, good());
    expect(await verified()).toBe(true);
    putFile(host, channel, FIRST, good().replace('pay 100', 'pay 999'));
    expect(await verified()).toBe(false);
    putFile(host, channel, FIRST, good());
    expect(await verified()).toBe(true);
  });

  it('pins no key by what is in the transport, and a run pins none', { tags: 'long' }, async () => {
    const mallory = new Key(host, 'mallory');
    host.edit({ 'local/actors/keys.pub': `${mallory.line}\n`, 'data/pins.json': '{}' });
    await host.run('sync');
    writeFileSync(join(host.dir, 'local', 'anna.pub'), `${mallory.line}\n`);
    const pinned = await host.run('key', 'pin', 'anna', join(host.dir, 'local', 'anna.pub'));
    expect(pinned).toMatchObject({ code: 1, out: '' });
    expect(pinned.err).toContain('lies in the transport, where whoever can push can change it');
    const ran = join(host.bus.root, 'ran');
    host.declare({
      worker: `cat >/dev/null; for what in list "pin anna '${mallory.pub}'" "unpin anna" "create x"; do crosstalk key $what >> ${ran} 2>&1; echo $? >> ${ran}; done; echo done`,
    });
    await host.approve();
    await host.send('worker', 'try it');
    await host.once();
    const lines = readFileSync(ran, 'utf8').trim().split('\n');
    expect(lines.filter((line) => line === '2')).toHaveLength(4);
    expect(lines.filter((line) => line.includes('not for a run'))).toHaveLength(4);
    expect(JSON.parse((await host.run('key', 'list', '--json')).out)).toMatchObject([
      { name: 'anna' },
    ]);
    expect(existsSync(join(host.dir, 'x'))).toBe(false);
  });
});
