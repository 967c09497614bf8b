import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Nats, natsMissing, skippedWithoutNats } from '../support/nats.ts';
import {
  answers,
  hearing,
  ringsAgain,
  rungs,
  stranger,
  subjectOf,
  withBell,
} from '../support/with-bell.ts';

describe.skipIf(natsMissing() !== undefined)(
  `a stranger on the subject of the bell${skippedWithoutNats}`,
  () => {
    it(
      'what is no ring for a machine leads to no fetch, whatever it is',
      { tags: 'long' },
      async () => {
        const bus = new Bus();
        const nats = await Nats.start(bus.root);
        const host = await bus.host('b', { beta: 'echo pong' });
        const sender = await bus.host('a', { alpha: 'true' });
        for (const one of [host, sender]) await withBell(one, { bell: nats.url });
        const running = await hearing(host, '--interval', '1d');
        await hearing(sender, '--interval', '1d');
        const subject = subjectOf(bus);
        const tip = git(bus.hub, 'rev-parse', 'main').trim();
        const other = 'f'.repeat(40);
        const line = await stranger(nats.url);
        const nonsense = [
          randomBytes(1000),
          Buffer.alloc(900_000, '['),
          '',
          'null',
          '{"__proto__":{"tip":1}}',
          JSON.stringify({ tip: other, for: ['c'] }),
          JSON.stringify({ tip: other, for: 'b' }),
          JSON.stringify({ tip: other, for: [['b']] }),
          JSON.stringify({ tip: `${other}; rm -rf /`, for: ['b'] }),
          JSON.stringify({ tip: other, for: ['b'], text: 'x'.repeat(100_000) }),
          // What is known already is no news.
          JSON.stringify({ tip, for: ['b'] }),
        ];
        for (const one of nonsense)
          for (const kind of ['ring', 'beat', 'other']) line.publish(`${subject}.${kind}`, one);
        await line.flush();
        // What is said later is heard later.
        const sent = await ringsAgain(sender, { actor: 'beta', running });
        await answers(bus, 'beta', sent);
        expect(rungs(running).map((rung) => rung['tip'])).not.toContain(other);
        expect(running.count('internal_error')).toBe(0);
      },
    );

    it('a flood of false rings costs at most a fetch a second, and keeps no message from its actor', async () => {
      const bus = new Bus();
      const nats = await Nats.start(bus.root);
      const host = await bus.host('b', { beta: 'echo pong' });
      const sender = await bus.host('a', { alpha: 'true' });
      await withBell(host, { bell: nats.url });
      const running = await hearing(host, '--interval', '1d');
      const line = await stranger(nats.url);
      const begun = performance.now();
      for (let ring = 0; ring < 10_000; ring++) {
        const tip = randomBytes(20).toString('hex');
        line.publish(`${subjectOf(bus)}.ring`, JSON.stringify({ tip, for: ['b'] }));
        if (ring % 500 === 0) await line.flush();
      }
      await line.flush();
      // The sender has no bell: this one is found by a fetch that a false ring led to, or by the poll.
      await sender.send('beta', 'in the noise');
      line.publish(
        `${subjectOf(bus)}.ring`,
        JSON.stringify({ tip: randomBytes(20).toString('hex'), for: ['b'] }),
      );
      await answers(bus, 'beta', 1);
      const seconds = (performance.now() - begun) / 1000;
      expect(rungs(running).length).toBeGreaterThan(0);
      expect(rungs(running).length).toBeLessThanOrEqual(seconds + 2);
    });

    it(
      'more than machines can have to say is not heard for a while, and rings are heard again after that',
      { tags: 'long' },
      async () => {
        const bus = new Bus();
        const nats = await Nats.start(bus.root);
        const host = await bus.host('b', { beta: 'echo pong' });
        const sender = await bus.host('a', { alpha: 'true' });
        for (const one of [host, sender]) await withBell(one, { bell: nats.url });
        const running = await hearing(host, '--interval', '2');
        await hearing(sender, '--interval', '2');
        const line = await stranger(nats.url);
        for (let times = 0; running.count('bell_flooded') === 0 && times < 1000; times++) {
          for (let one = 0; one < 5; one++)
            line.publish(`${subjectOf(bus)}.beat`, Buffer.alloc(1_000_000));
          await line.flush();
        }
        expect(running.count('bell_flooded')).toBe(1);
        const sent = await ringsAgain(sender, { actor: 'beta', running });
        await answers(bus, 'beta', sent);
      },
    );

    it('nothing that is pushed sets a bell', { tags: 'long' }, async () => {
      const bus = new Bus();
      const nats = await Nats.start(bus.root);
      const host = await bus.host('b', { beta: 'echo pong' });
      host.edit({
        '.gitconfig': `[crosstalk]\n\tbell = ${nats.url}\n`,
        'local/config': `[crosstalk]\n\tbell = ${nats.url}\n`,
        'hosts/b.md': `---\nalias: b\nbell: ${nats.url}\nactors:\n  beta:\n    default: echo pong\n---\n`,
      });
      const running = host.start();
      await host.send('beta', 'hello');
      await answers(bus, 'beta', 1);
      const { out } = await host.run('status', '--json');
      expect((JSON.parse(out) as { dispatcher: object }).dispatcher).not.toHaveProperty('bell');
      expect(running.count('bell_up') + running.count('bell_down')).toBe(0);
    });
  },
);
