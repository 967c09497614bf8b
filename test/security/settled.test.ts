import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { messageFile } from '../../src/protocol/layout.ts';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { put, tipOf } from '../support/history.ts';
import { fileOf, hasSshKeygen, Key, pins, signs, WITH_SSH_KEYGEN } from '../support/keys.ts';

let bus: Bus;
let host: Host;
let ran: string;

/** A machine whose worker does only what anna has signed, and notes each run. */
beforeEach(async () => {
  bus = new Bus();
  ran = join(bus.root, 'ran');
  host = await bus.host('laptop', {
    worker: {
      default: { cli: `cat >/dev/null; echo run >> ${ran}; echo done`, only_from: 'anna' },
    },
    silent: `cat >/dev/null; echo run >> ${ran}`,
    failing: { default: { cli: `cat >/dev/null; echo run >> ${ran}; exit 7`, attempts: 1 } },
    lead: agent('coordinator', 'left', 'right'),
  });
  if (!hasSshKeygen) return;
  const anna = new Key(host, 'anna');
  await pins(host, 'anna', anna);
  await signs(host, anna);
});

const runs = (): number => (existsSync(ran) ? readFileSync(ran, 'utf8').split('\n').length - 1 : 0);

/** Several starts, because one scans what the previous one has pushed. */
async function starts(): Promise<void> {
  for (let start = 0; start < 3; start++) await host.once();
}

/** Rewrites the history as whoever can push: all in one commit, without some files and with others. */
function rewrite(without: readonly string[], base = '', added: Record<string, string> = {}): void {
  const clone = mkdtempSync(join(bus.root, 'clone-'));
  git(clone, 'clone', '--quiet', bus.hub, '.');
  for (const path of without) git(clone, 'rm', '--quiet', path);
  git(clone, 'commit', '--quiet', '--allow-empty', '--message', 'x');
  const parent = base === '' ? [] : ['-p', base];
  const tree = git(clone, 'rev-parse', 'HEAD^{tree}').trim();
  const said = `all in one ${String(Math.random())}`;
  const commit = git(clone, 'commit-tree', tree, ...parent, '-m', said).trim();
  git(clone, 'push', '--quiet', '--force', 'origin', `${commit}:refs/heads/main`);
  for (const file of Object.entries(added)) put(bus, file);
}

const fileAt = (relPath: string): string => messageFile(host.channel(), relPath);
const answersOf = (actor: string): string[] =>
  bus.from(actor).map(({ relPath }) => fileAt(relPath));

describe.skipIf(!hasSshKeygen)(`whoever rewrites the history ${WITH_SSH_KEYGEN}`, () => {
  it(
    'has no signed task run again by taking its answer off the bus, however often',
    { tags: 'long' },
    async () => {
      const base = tipOf(bus);
      await host.send('worker', 'pay 100');
      await starts();
      expect(runs()).toBe(1);
      for (const parent of ['', base, base]) {
        rewrite(answersOf('worker'), parent);
        await starts();
      }
      const running = host.start();
      await running.saw('tick');
      rewrite(answersOf('worker'), base);
      const tip = tipOf(bus);
      await running.saw('tick', (event) => event['tip'] === tip);
      await host.send('worker', 'pay 1');
      await running.saw('dispatch_done');
      await running.stop();
      expect(runs()).toBe(2);
    },
  );

  it(
    'has none run again by taking the task off too, and putting it back later, or elsewhere',
    { tags: 'long' },
    async () => {
      const relPath = await host.send('worker', 'pay 100');
      await starts();
      const task = fileOf(host, { channel: host.channel(), relPath });
      rewrite([fileAt(relPath), ...answersOf('worker')]);
      await starts();
      put(bus, [fileAt(relPath), task]);
      await starts();
      host.remove(fileAt(relPath));
      await starts();
      rewrite([], '', { [fileAt(relPath)]: task });
      await starts();
      const other = relPath.replace(/-[0-9a-f]+\.md$/, '-0123456789ab.md');
      put(bus, [fileAt(other), task]);
      put(bus, [fileAt(relPath), task.replace('pay 100', 'pay 900')]);
      await starts();
      expect(runs()).toBe(1);
      await host.send('worker', 'pay 1');
      await starts();
      expect(runs()).toBe(2);
    },
  );

  it(
    'has none run again by putting what was said into another order',
    { tags: 'long' },
    async () => {
      const relPath = await host.send('worker', 'pay 100');
      await starts();
      const [answer = ''] = answersOf('worker');
      const answered = git(bus.hub, 'show', `main:${answer}`);
      const task = fileOf(host, { channel: host.channel(), relPath });
      rewrite([fileAt(relPath), answer], '', { [answer]: answered, [fileAt(relPath)]: task });
      await starts();
      expect(runs()).toBe(1);
    },
  );

  it(
    'has nothing run again that was met with silence, called off, or dropped after it failed',
    { tags: 'long' },
    async () => {
      for (const word of ['one', 'too']) await host.send('silent', word);
      const failed = await host.send('failing', 'two');
      const called = await host.send('worker', 'three');
      await host.run('cancel', called);
      await starts();
      const before = runs();
      const letters = JSON.parse((await host.run('dlq', '--json')).out) as { id: string }[];
      for (const { id } of letters) await host.run('dlq', '--drop', id);
      const said = bus.messages().filter(({ relPath }) => ![failed, called].includes(relPath));
      const others = said.filter(({ message }) => message.re.length > 0 || message.cancels);
      rewrite(others.map(({ relPath }) => fileAt(relPath)));
      await starts();
      expect(bus.messages().map(({ relPath }) => relPath)).toContain(called);
      expect(before).toBe(2);
      expect(runs()).toBe(before);
    },
  );

  it(
    'has none run again in a clone that was made anew in the place of the old one',
    { tags: 'long' },
    async () => {
      await host.send('worker', 'pay 100');
      await starts();
      rmSync(host.dir, { recursive: true });
      rewrite(answersOf('worker'));
      git(bus.root, 'clone', '--quiet', bus.hub, host.dir);
      await host.run('dispatch', '--once', '--host', 'laptop', '--trust-host-file');
      await starts();
      expect(runs()).toBe(1);
    },
  );

  it(
    'has no coordinator complete a goal again by taking off its answer, and one of its parts for a while',
    { tags: 'long' },
    async () => {
      const back = await bus.host('back', { left: 'echo left' });
      const side = await bus.host('side', { right: 'echo right' });
      const goal = await host.send('lead', 'all of it');
      for (const other of [host, back, host, side, host]) await other.once();
      const answered = (): string[] =>
        bus
          .from('lead')
          .filter(({ message }) => message.re.includes(goal))
          .map(({ relPath }) => fileAt(relPath));
      expect(answered()).toHaveLength(1);
      await host.once();
      const [part = ''] = answersOf('left');
      const content = git(bus.hub, 'show', `main:${part}`);
      for (let time = 0; time < 2; time++) {
        rewrite([...answered(), part]);
        await starts();
        put(bus, [part, content]);
        await starts();
      }
      expect(answered()).toEqual([]);
    },
  );

  it('keeps no operator from trying again what has failed', async () => {
    await host.send('failing', 'two');
    await starts();
    rewrite([]);
    await starts();
    const [letter] = JSON.parse((await host.run('dlq', '--json')).out) as { id: string }[];
    await host.run('dlq', '--retry', letter?.id ?? '');
    await starts();
    expect(runs()).toBe(2);
  });
});
