import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import type { Message } from '../../src/protocol/message.ts';
import { put } from '../support/by-hand.ts';
import { git } from '../support/git.ts';
import { hasSshKeygen, Key, pins, signs, WITH_SSH_KEYGEN } from '../support/keys.ts';

let bus: Bus;
let host: Host;
let anna: Key;
let ran: string;

/** Says in a file that it ran, and for what. */
const worker = (): string => `cat >> ${ran}; echo done`;

beforeEach(async () => {
  bus = new Bus();
  ran = join(bus.root, 'ran');
  host = await bus.host('laptop', {
    worker: { default: { cli: worker(), only_from: ['anna'] } },
    lead: {
      default: {
        cli: `cat >/dev/null; mkdir ${ran}-once 2>/dev/null && crosstalk send --to worker "a part" >/dev/null; echo done`,
        only_from: 'anna, bob',
      },
    },
  });
  if (!hasSshKeygen) return;
  anna = new Key(host, 'anna');
  await pins(host, 'anna', anna);
});

const prompts = (): string => (existsSync(ran) ? readFileSync(ran, 'utf8') : '');

/** The notices of tasks that nobody works on: whom they are to, and why. */
const refusals = (): unknown[] =>
  bus
    .messages()
    .filter(({ message }) => message.failed !== undefined)
    .map(({ message: { to, failed } }) => [to[0]?.name, failed?.reason, failed?.attempts]);

const letters = async (): Promise<{ id: string; detail: string; state: string }[]> =>
  JSON.parse((await host.run('dlq', '--json')).out) as {
    id: string;
    detail: string;
    state: string;
  }[];

describe.skipIf(!hasSshKeygen)(`a tier with only_from ${WITH_SSH_KEYGEN}`, () => {
  it('serves whoever it names and has signed, and tells others at once that it does not', async () => {
    await signs(host, anna);
    await host.send('worker', 'from anna');
    await host.send('worker', 'from carl', '--from', 'carl');
    await bus.rest([host]);
    expect(prompts()).toContain('from anna');
    expect(prompts()).not.toContain('from carl');
    expect(refusals()).toEqual([['carl', 'not_accepted', 1]]);
    const [letter] = await letters();
    expect(letter?.state).toBe('quarantined');
    expect(letter?.detail).toMatch(/is from carl, and only anna may ask$/);
  });

  it(
    'serves nobody who only says so, and nobody whose key is not pinned',
    { tags: 'long' },
    async () => {
      await host.send('worker', 'forged', '--from', 'anna');
      await bus.rest([host]);
      await host.send('lead', 'not pinned', '--from', 'bob');
      await bus.rest([host]);
      expect(prompts()).toBe('');
      expect(refusals()).toEqual([
        ['anna', 'not_accepted', 1],
        ['bob', 'not_accepted', 1],
      ]);
      const details = (await letters()).map(({ detail }) => detail);
      expect(details[0]).toMatch(/says that it is from anna, and is not signed by that name$/);
      expect(details[1]).toMatch(
        /^no key of bob is pinned on this machine: pin the one that has signed its message: crosstalk key pin bob \d{4}\/\d\d\/\d\d\/\S+\.md$/,
      );
    },
  );

  it(
    'judges a thread by its beginning, so that what actors delegate is served',
    { tags: 'long' },
    async () => {
      await signs(host, anna);
      await host.send('lead', 'the whole');
      await bus.rest([host]);
      expect(prompts()).toContain('a part');
      expect(refusals()).toEqual([]);
      await host.send('lead', 'by somebody else', '--from', 'carl');
      await bus.rest([host]);
      expect(refusals()).toEqual([['carl', 'not_accepted', 1]]);
    },
  );

  it(
    'serves nobody who names a signed message as the cause of a task, without having been asked',
    { tags: 'long' },
    async () => {
      await signs(host, anna);
      const signed = await host.send('worker', 'honest');
      await bus.rest([host]);
      const to = [{ name: 'worker' }];
      put(host, { from: 'mallory', to, re: [], cause: [signed], body: 'evil one\n' });
      const [answer] = bus.from('worker');
      put(host, { from: 'mallory', to, re: [answer?.relPath ?? ''], body: 'evil two\n' });
      put(host, {
        from: 'mallory',
        to,
        re: [answer?.relPath ?? ''],
        asks: true,
        body: 'evil three\n',
      });
      put(host, { from: 'anna', to, re: [answer?.relPath ?? ''], asks: true, body: 'evil four\n' });
      put(host, {
        from: 'mallory',
        to,
        re: ['2026/01/01/000000000Z-00000000.md'],
        asks: true,
        body: 'evil five\n',
      });
      await bus.rest([host]);
      expect(prompts()).toContain('honest');
      expect(prompts()).not.toContain('evil');
    },
  );

  it(
    'serves nobody who builds on a signed message to all, in whatever way it is named',
    { tags: 'long' },
    async () => {
      await signs(host, anna);
      const [news, listed] = [
        await host.send('all', 'honest'),
        await host.send('worker,lead', 'listed'),
      ];
      await bus.rest([host]);
      const to = [{ name: 'worker' }];
      const [answer] = bus.from('worker').filter(({ message }) => message.re.includes(news));
      const by = (from: string, said: Partial<Message>): string =>
        put(host, { from, to, re: [], body: 'evil\n', ...said });
      by('mallory', { cause: [news] });
      by('mallory', { re: [news], asks: true });
      by('mallory', { cause: [listed] });
      by('mallory', { cause: [`${host.channel()}/${news}`] });
      // An actor of another machine that only heard of it hands nothing on either.
      const heard = by('elsewhere', { cause: [news], to: [{ name: 'mallory' }] });
      by('mallory', { re: [heard], asks: true });
      const joined = by('mallory', { re: [news], to: [{ name: 'all' }, { name: 'mallory' }] });
      by('mallory', { re: [joined], asks: true });
      await bus.rest([host]);
      expect(prompts()).toContain('honest');
      expect(prompts()).not.toContain('evil');
      await host.run('reply', answer?.relPath ?? '', 'what they say to the answer');
      await bus.rest([host]);
      expect(prompts()).toContain('what they say to the answer');
    },
  );

  it(
    'serves nobody who forges what an actor of this machine has said, to get into its thread',
    { tags: 'long' },
    async () => {
      await signs(host, anna);
      const signed = await host.send('worker', 'honest');
      await bus.rest([host]);
      const to = (name: string): Partial<Message> => ({ to: [{ name }] });
      const forge = (from: string, re: string, said: Partial<Message>): string =>
        put(host, { from, re: [re], host: 'laptop', body: 'evil\n', ...said });
      const asked = forge('worker', signed, to('mallory'));
      forge('mallory', asked, to('worker'));
      const passed = forge('worker', signed, { ...to('lead'), host: 'elsewhere' });
      put(host, { from: 'lead', re: [], cause: [passed], ...to('worker'), body: 'evil\n' });
      await bus.rest([host]);
      // What is published again after the branch was set back does not become this machine's by that.
      const before = git(bus.hub, 'rev-parse', 'main~4').trim();
      git(bus.hub, 'update-ref', 'refs/heads/main', before);
      await bus.rest([host]);
      forge('mallory', asked, { ...to('worker'), asks: true });
      await bus.rest([host]);
      expect(prompts()).toContain('honest');
      expect(prompts()).not.toContain('evil');
      expect((await letters()).map(({ detail }) => detail).join()).toContain(
        'no record of having written it',
      );
      await host.send('worker', 'honest too');
      const [answer] = bus
        .from('worker')
        .filter(({ message }) => message.re.includes(signed) && message.to[0]?.name === 'anna');
      await host.run('reply', answer?.relPath ?? '', 'and a follow-up');
      await bus.rest([host]);
      expect(prompts()).toContain('honest too');
      expect(prompts()).toContain('and a follow-up');
    },
  );

  it('still serves what was signed if somebody adds a forged task to it', async () => {
    await signs(host, anna);
    await host.send('worker', 'true one');
    git(host.dir, 'config', '--unset', 'crosstalk.signingKey');
    await host.send('worker', 'forged one', '--from', 'anna');
    const running = host.start();
    await running.saw('dispatch_done', ({ replied }) => replied === true);
    await running.stop();
    expect(prompts()).toContain('true one');
    expect(prompts()).not.toContain('forged one');
    expect((await letters()).map(({ detail }) => detail)).toEqual([
      expect.stringContaining('is not signed by that name'),
    ]);
  });

  it('judges again what an operator has released', { tags: 'long' }, async () => {
    git(host.dir, 'config', 'crosstalk.from', 'bob');
    const bob = new Key(host, 'bob');
    await signs(host, bob, 'bob');
    await host.send('lead', 'by bob');
    await bus.rest([host]);
    const [letter] = await letters();
    expect(letter?.detail).toContain('no key of bob is pinned');
    await host.run('dlq', '--retry', letter?.id ?? '');
    await bus.rest([host]);
    expect((await letters()).map(({ state }) => state)).toEqual(['quarantined']);
    await pins(host, 'bob', bob);
    await host.run('dlq', '--retry', letter?.id ?? '');
    await bus.rest([host]);
    expect((await letters()).filter(({ id }) => id === letter?.id)).toEqual([]);
  });

  it('lets no other tier take what it turns away', { tags: 'long' }, async () => {
    host.declare({
      worker: {
        strict: { cli: worker(), only_from: ['anna'], fallback: 'open', attempts: '3' },
        open: worker(),
      },
    });
    await host.approve();
    await host.send('worker', 'from carl', '--from', 'carl');
    await bus.rest([host]);
    expect(prompts()).toBe('');
    expect(refusals()).toEqual([['carl', 'not_accepted', 1]]);
  });

  it('serves nobody while the pinned keys cannot be read, and goes on when they can', async () => {
    await signs(host, anna);
    await host.send('worker', 'please');
    const path = join(host.state, 'pins.json');
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, '{');
    const shown = await host.run('log');
    expect(shown).toMatchObject({ code: 1, out: '' });
    expect(shown.err).toMatch(/the pinned keys in .*pins\.json cannot be read/);
    const running = host.start();
    await running.saw('internal_error');
    expect(prompts()).toBe('');
    rmSync(path);
    writeFileSync(path, before);
    await running.saw('dispatch_done');
    expect(prompts()).toContain('please');
    expect(await letters()).toEqual([]);
  });

  it(
    'is approved with the tier: a change of it that is pushed is held',
    { tags: 'long' },
    async () => {
      host.declare({ worker: { default: { cli: worker() } } });
      const shown = await host.run('host', 'show', '--json');
      const { held } = JSON.parse(shown.out) as { held: { changes: unknown[] }[] };
      expect(held.flatMap(({ changes }) => changes)).toContainEqual({
        option: 'only_from',
        approved: ['anna'],
      });
      await host.send('worker', 'from carl', '--from', 'carl');
      await bus.rest([host]);
      expect(prompts()).toBe('');
    },
  );
});
