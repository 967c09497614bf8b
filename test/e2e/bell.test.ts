import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WebMachine, WebNow } from '../../src/api/api.ts';
import { Bus, type Event } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { certificates, Nats, natsMissing, operator, skippedWithoutNats } from '../support/nats.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';
import {
  answers,
  hearing,
  ringsAgain,
  rungs,
  stranger,
  subjectOf,
  withBell,
} from '../support/with-bell.ts';

/** Milliseconds between two events. */
function apart(one: Event | undefined, other: Event | undefined): number {
  return Date.parse(String(other?.['ts'])) - Date.parse(String(one?.['ts']));
}

describe.skipIf(natsMissing() !== undefined)(`a bell between machines${skippedWithoutNats}`, () => {
  it(
    'a machine that is named fetches at once, one that is not keeps its poll, and whoever waits for news hears of any',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const nats = await Nats.start(bus.root);
      const [a, b, c] = [
        await bus.host('a', { alpha: 'true' }),
        await bus.host('b', { beta: 'echo pong' }),
        await bus.host('c', { gamma: 'echo never' }),
      ];
      for (const host of [a, b, c]) await withBell(host, { bell: nats.url });
      const asking = await hearing(a, '--interval', '1d');
      const named = await hearing(b, '--interval', '1d');
      const other = await hearing(c, '--interval', '1d');

      // The answer is for a person, who is served by no host file: a waits for it.
      let asked = 0;
      await until('an answer that was rung for', async () => {
        const { out } = await a.run('ask', 'beta', `ping ${String(++asked)}`, '--timeout', '120');
        expect(out).toContain('pong');
        return rungs(asking).length > 0;
      });
      const sent = await ringsAgain(a, { actor: 'beta', running: named });
      await answers(bus, 'beta', sent + asked);

      expect(rungs(other)).toEqual([]);
    },
  );

  it(
    'while the bell stands, mail among others does not make a machine poll sooner',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const nats = await Nats.start(bus.root);
      const [a, b] = [
        await bus.host('a', { alpha: 'true' }),
        await bus.host('b', { beta: 'echo never' }),
      ];
      for (const host of [a, b]) await withBell(host, { bell: nats.url });
      const other = await hearing(b, '--interval', '1d');
      const polls = (): Event[] => other.events.filter((event) => event['fetch_ms'] !== undefined);
      // The waits between polls double from a second on.
      await until('two quiet polls', () => {
        const [before, last] = polls().slice(-2);
        return before !== undefined && apart(before, last) > 1500;
      });
      const known = polls().at(-1)?.['tip'];
      await a.send('alpha', 'nothing for b');

      let found = -1;
      await until('a poll that finds the message, and the one after it', () => {
        found = polls().findLastIndex(({ tip }) => tip === known) + 1;
        return polls()[found + 1] !== undefined;
      });
      expect(apart(polls()[found], polls()[found + 1])).toBeGreaterThan(1500);
    },
  );

  it('with a cluster of three of which one is killed, the bell rings again, and no message is lost', async () => {
    const bus = new Bus();
    const servers = await Nats.cluster(bus.root, 3);
    const [a, b] = [
      await bus.host('a', { alpha: 'true' }),
      await bus.host('b', { beta: 'echo pong' }),
    ];
    const bell = servers.map(({ url }) => url).join(',');
    for (const host of [a, b]) await withBell(host, { bell });
    await hearing(a, '--interval', '2');
    const running = await hearing(b, '--interval', '2');
    let sent = await ringsAgain(a, { actor: 'beta', running });
    await servers[0]?.stop();
    sent += await ringsAgain(a, { actor: 'beta', running });
    await answers(bus, 'beta', sent);
  });

  it(
    'with TLS and a credentials file it rings; without them nothing is heard, the reason is said, and mail comes by the poll',
    { tags: 'slow' },
    async () => {
      const bus = new Bus();
      const { ca, cert, key } = certificates(join(bus.root, 'certificates'));
      const { config, user } = operator();
      const nats = await Nats.start(
        bus.root,
        `tls: { cert_file: "${cert}", key_file: "${key}" }\n${config}`,
      );
      const [a, b, c] = [
        await bus.host('a', { alpha: 'true' }),
        await bus.host('b', { beta: 'echo pong' }),
        await bus.host('c', { gamma: 'echo late' }),
      ];
      const creds = join(bus.root, 'user.creds');
      const others = join(bus.root, 'others.creds');
      writeFileSync(creds, user(), { mode: 0o600 });
      writeFileSync(others, operator().user(), { mode: 0o600 });
      const bell = nats.url.replace('nats:', 'tls:');
      for (const host of [a, b]) await withBell(host, { bell, bellCredentials: creds, bellCa: ca });
      await hearing(a);
      const running = await hearing(b, '--interval', '1d');
      const sent = await ringsAgain(a, { actor: 'beta', running });
      await answers(bus, 'beta', sent);

      await withBell(c, { bell, bellCredentials: others, bellCa: ca });
      const refused = c.start();
      const down = await refused.saw('bell_down');
      expect(down['reason']).toContain(`refuses the credentials (${others})`);
      await a.send('gamma', 'by the poll');
      await answers(bus, 'gamma', 1);
      await withBell(c, { bell, bellCredentials: creds, bellCa: join(bus.root, 'none.pem') });
      await refused.saw('bell_down', ({ reason }) =>
        String(reason).includes('bellCa cannot be read'),
      );
      git(c.dir, 'config', '--unset', 'crosstalk.bellCa');
      await c.accept();
      await refused.saw('bell_down', ({ reason }) => String(reason).includes('no safe connection'));
      await withBell(c, { bellCa: ca });
      await refused.saw('bell_up');
    },
  );

  it('a server that is stopped, started again or frozen costs no message, and none comes later than the poll', async () => {
    const bus = new Bus();
    const nats = await Nats.start(bus.root);
    const [a, b] = [
      await bus.host('a', { alpha: 'true' }),
      await bus.host('b', { beta: 'echo pong' }),
    ];
    for (const host of [a, b]) await withBell(host, { bell: nats.url });
    await hearing(a, '--interval', '1');
    const running = await hearing(b, '--interval', '1');
    let sent = await ringsAgain(a, { actor: 'beta', running });

    await nats.stop();
    const down = await running.saw('bell_down');
    expect(down['reason']).toMatch(/is lost|cannot be reached/);
    await a.send('beta', 'while it is down');
    await answers(bus, 'beta', ++sent);

    await nats.start();
    sent += await ringsAgain(a, { actor: 'beta', running });

    nats.freeze();
    await a.send('beta', 'while it is frozen');
    await answers(bus, 'beta', ++sent);
    nats.thaw();
    sent += await ringsAgain(a, { actor: 'beta', running });
    await answers(bus, 'beta', sent);
  });

  it(
    'a bell that was set in a clone is used once it is approved, without a restart, and is no longer used once it is unset',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const nats = await Nats.start(bus.root);
      const host = await bus.host('a', { alpha: 'echo here' });
      const running = host.start();
      await running.saw('host_file_loaded');
      const url = nats.url.replace('//', '//user:very-secret@');
      git(host.dir, 'config', 'crosstalk.bell', url);
      await running.saw('host_change_held');
      expect((await host.run('host', 'show')).out).toContain('crosstalk.bell');
      await host.send('alpha', 'held');
      await answers(bus, 'alpha', 1);
      expect(running.count('bell_up') + running.count('bell_down')).toBe(0);

      await host.approve();
      await running.saw('bell_up');
      const { out } = await host.run('status', '--json');
      expect(out + JSON.stringify(running.events)).not.toContain('very-secret');
      git(host.dir, 'config', '--unset', 'crosstalk.bell');
      await host.accept();
      await until('no bell in the heartbeat', async () => {
        const now = await host.run('status', '--json');
        return !('bell' in (JSON.parse(now.out) as { dispatcher: object }).dispatcher);
      });
    },
  );

  it(
    'status, actor list and the page show which machines are there, and what they do',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const nats = await Nats.start(bus.root);
      const finish = join(bus.root, 'finish');
      const [a, b, c] = [
        await bus.host('a', { alpha: 'true' }),
        await bus.host('b', { beta: `while test ! -e ${finish}; do sleep 0.05; done; echo done` }),
        await bus.host('c', { gamma: 'true' }),
      ];
      for (const host of [a, b, c]) await withBell(host, { bell: nats.url });
      await hearing(a);
      const running = await hearing(b);
      const web = await Web.start(a);
      await a.send('beta', 'take your time');
      await running.saw('dispatch_start');
      const machinesOf = async (): Promise<WebMachine[]> => {
        const { out } = await a.run('status', '--json');
        return (JSON.parse(out) as { machines: WebMachine[] }).machines;
      };
      const [atWork, silent] = await until('the run of b', async () => {
        const machines = await machinesOf();
        return machines[0]?.running.length === 1 && machines;
      });
      expect(atWork).toMatchObject({ alias: 'b', live: true, running: ['beta'], held: 0 });
      expect(silent).toMatchObject({ alias: 'c', live: false, heard_s: null });
      const { out } = await a.run('status');
      expect(out).toMatch(/Other machines\n {2}b +live, heard .+ ago +runs beta +version \d/);
      expect(out).toMatch(/\n {2}c +not heard/);
      expect(out).toContain(`hears of other machines at once (bell at ${nats.url})`);
      const listed = (await a.run('actor', 'list')).out;
      expect(listed).toMatch(/b \(default, live, heard .+ ago\)/);
      expect(listed).toContain('c (default, not heard)');
      expect((await web.get<WebNow>('/api/now')).machines?.map(({ live }) => live)).toEqual([
        true,
        false,
      ]);

      // Whoever has no host file here, and whoever speaks as this machine, does not appear.
      const line = await stranger(nats.url);
      for (const host of ['nobody', 'a', '\u001b[2Jb'])
        line.publish(
          `${subjectOf(bus)}.beat`,
          JSON.stringify({ host, version: '6.6.6', every: 5, actors: [], running: [], held: 0 }),
        );
      await line.flush();
      writeFileSync(finish, '');
      await until('the end of the run', async () => (await machinesOf())[0]?.running.length === 0);
      expect((await machinesOf()).map(({ alias }) => alias)).toEqual(['b', 'c']);
      expect(JSON.stringify(await machinesOf())).not.toContain('6.6.6');
    },
  );
});
