import { expect, it } from 'vitest';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import { billed, billedRuns, pass, printing } from '../support/passes.ts';

const LIMIT = {
  type: 'result',
  is_error: true,
  result: 'Claude AI usage limit reached|4000000000',
};

/** An agent CLI whose account is at its limit; it is another account than that of {@link billed}. */
function limited(bus: Bus): string {
  const login = join(tmpdir(), 'no-login');
  return `CLAUDE_CONFIG_DIR=${login} ${printing(bus, 'claude', LIMIT, 1)} -p`;
}

function toldTo(bus: Bus): string[] {
  return bus
    .from('lead')
    .filter(({ message }) => message.interim === true)
    .map(({ message }) => message.body);
}

it(
  'an asker hears of a spent budget when all other tiers are held, and status names both',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      lead: {
        large: { cli: limited(bus), fallback: 'cheap' },
        cheap: { cli: billed(), max_usd_per_day: '0.25' },
      },
    });
    const running = host.start();
    await host.send('lead', 'one');
    await running.saw('dispatch_done');
    const runsOn = 'lead runs on cheap';
    expect((await host.run('status')).out).toContain(runsOn);
    const question = await host.send('lead', 'two');
    const parked = await running.saw('parked', ({ tier }) => tier === 'cheap');
    await running.saw(
      'tick',
      (tick) => running.events.indexOf(tick) > running.events.indexOf(parked),
    );
    const { out } = await host.run('status');
    expect(out).not.toContain(runsOn);
    expect(out).toContain('so mail for lead waits');
    expect(out).toContain('max_usd_per_day of lead.cheap is $0.25, and $0.25 are spent');
    await running.stop();
    expect(toldTo(bus)).toHaveLength(1);
    expect(toldTo(bus)[0]).toContain('lead on front has not begun: max_usd_per_day of lead.cheap');
    expect((await host.run('resume', '--for', 'lead')).out).toContain('1 message ');
    await pass(host);
    expect((await host.run('replies', question)).out).toContain('It is done.');
  },
);

it('a thread that is too deep for a fallback waits for the tier that was asked for', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    boss: agent('coordinator', 'lead'),
    lead: {
      large: { cli: limited(bus), fallback: 'cheap' },
      cheap: { cli: 'echo must not run', max_depth: 1 },
    },
  });
  await host.send('boss', 'a goal');
  host.start();
  const letters = async (): Promise<unknown[]> =>
    JSON.parse((await host.run('dlq', '--json')).out) as unknown[];
  await expect.poll(async () => (await letters()).length, { timeout: 120_000 }).toBe(1);
  expect(await letters()).toMatchObject([{ state: 'parked', tier: 'cheap', tier_asked: 'large' }]);
});

it('tiers with the names of what every object has are tried as any others', async () => {
  const bus = new Bus();
  const failing = (to: object): Record<string, string> => ({
    cli: `echo >> ${join(bus.root, 'runs')}; exit 3`,
    retry_delay: '10ms',
    ...to,
  });
  const host = await bus.host('front', {
    lead: { constructor: failing({ fallback: 'valueOf' }), valueOf: failing({}) },
  });
  await host.send('lead', 'one');
  const running = host.start();
  const { attempts } = await running.saw('quarantined');
  expect(attempts).toBe(5);
});

it(
  'a budget that is lifted, raised or gone around by a push stays as it was approved',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const spent = { cli: billed(), max_usd_per_day: '0.25' };
    const declare = (host: Host, tier: Record<string, string>): void => {
      host.declare({ lead: { large: tier, cheap: 'echo must not run' } });
    };
    const host = await bus.host('front', { lead: { large: spent, cheap: 'echo must not run' } });
    for (const text of ['one', 'two']) {
      await host.send('lead', text);
      await pass(host);
    }
    for (const pushed of [
      { cli: billed() },
      { ...spent, max_usd_per_day: '9999' },
      { ...spent, fallback: 'cheap' },
    ]) {
      declare(host, pushed);
      await pass(host);
    }
    expect(billedRuns(host)).toHaveLength(1);
    // What waits goes on under another name of its tier, once that is approved.
    host.declare({ lead: { renamed: spent } });
    await host.approve();
    await pass(host);
    expect(billedRuns(host)).toHaveLength(2);
  },
);
