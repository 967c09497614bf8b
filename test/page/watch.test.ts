import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import axe from 'axe-core';
import { agent } from '../support/agents.ts';
import { Bus, Running, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Slow } from '../support/slow.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

/** In the browser: whether an element has the focus, and how many pixels of it are below what is seen. */
const isFocused = (element: unknown): boolean =>
  (element as { matches: (what: string) => boolean }).matches(':focus');
const belowSight = (element: unknown): number => {
  const { scrollHeight, scrollTop, clientHeight } = element as Record<string, number>;
  return (scrollHeight ?? 0) - (scrollTop ?? 0) - (clientHeight ?? 0);
};
const MARKUP = '<img src=x onerror="globalThis.hacked = 1"><b>bold</b>';

describe.skipIf(!hasBrowser)(`what a run prints, on the page ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let running: Running;
  let web: Web;
  let slow: Slow;
  let brief: Slow;
  let bus: Bus;

  beforeAll(async () => {
    bus = new Bus();
    slow = new Slow(bus, 'worker');
    brief = new Slow(bus, 'brief');
    host = await bus.host('front', {
      worker: slow.cli,
      brief: brief.cli,
      model: agent('billed/claude', '-p', 'slow'),
    });
    running = new Running(host, ['--grace', '0']);
    web = await Web.open(host);
    await host.send('worker', 'part');
    await host.send('brief', 'part');
    await host.send('model', 'think');
    await running.saw('dispatch_start', ({ actor }) => actor === 'model');
  }, SLOW.timeout);
  afterAll(async () => {
    await web.stop();
    await running.stop();
  });

  it(
    'is shown as it comes, as text, and is asked for only while it is shown',
    { tags: 'long' },
    async () => {
      const window = await browsing.window(web, { viewport: PHONE });
      await window.open('/now');
      const { page } = window;
      let asked = 0;
      page.on('request', (request) => {
        if (request.url().includes('/output')) asked++;
      });
      await page.getByRole('button', { name: 'Watch worker' }).click();
      const card = page.getByRole('region', { name: 'What worker prints' });
      await card.getByText('It runs, and has printed nothing yet.').waitFor();
      const log = card.getByRole('log');
      expect(await log.evaluate(isFocused)).toBe(true);
      slow.print(`${MARKUP}\nsecond`);
      await log.getByText('<b>bold</b>').waitFor();
      slow.print(' half\n');
      await log.getByText('second half').waitFor();
      slow.print('\u001b[31mred\u001b[0m alarm\n', 'err');
      await log.getByText('red alarm').waitFor();
      expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
      expect(await log.locator('img, b').count()).toBe(0);

      slow.print(`${'a long line '.repeat(40)}\n`.repeat(40));
      await log.getByText('a long line').last().waitFor();
      // The end is in sight, and the page is no wider than the phone.
      await soon(() => log.evaluate(belowSight)).toBeLessThan(5);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
        PHONE.width,
      );
      await page.evaluate(axe.source);
      const found = await page.evaluate<{ violations: { id: string }[] }>('axe.run()');
      expect(found.violations.map(({ id }) => id)).toEqual([]);
      if (process.env['SCREENSHOTS'] !== undefined)
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/phone.png`, fullPage: true });

      const before = asked;
      await soon(() => asked).toBeGreaterThan(before);
      await card.getByRole('button', { name: 'Close' }).click();
      await card.waitFor({ state: 'detached' });
      await soon(() => page.getByRole('button', { name: 'Watch worker' }).evaluate(isFocused)).toBe(
        true,
      );
      const closed = asked;
      // What is asked for in regular intervals would come before this: another run is looked at twice.
      await page.getByRole('button', { name: 'Watch model' }).click();
      await page
        .getByRole('region', { name: 'What model prints' })
        .getByText('Bash: cat secret-transcript')
        .waitFor();
      await soon(() => asked).toBeGreaterThan(closed + 2);
      expect(window.errors).toEqual([]);
      await window.close();
    },
  );

  it(
    'tells what a model does and uses, and stays when the run has ended',
    { tags: 'long' },
    async () => {
      const window = await browsing.window(web);
      await window.open('/now');
      const { page } = window;
      await page.getByRole('button', { name: 'Watch model' }).click();
      const card = page.getByRole('region', { name: 'What model prints' });
      await card.getByText('Tokens so far 15 in, 1,500 cached, 6 out.').waitFor();
      await page.getByRole('button', { name: 'Watch brief' }).click();
      const other = page.getByRole('region', { name: 'What brief prints' });
      brief.print('in brief\n');
      await other.getByRole('log').getByText('in brief').waitFor();
      if (process.env['SCREENSHOTS'] !== undefined)
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/wide.png`, fullPage: true });
      brief.end();
      await other.getByText('It has ended, answered.').waitFor();
      await until('the answer', () => bus.from('brief').length === 1);
      await other.getByRole('log').getByText('in brief').waitFor();
      await window.close();
    },
  );

  it('is not shown in a read-only window', async () => {
    const wall = await Web.start(host, '--read-only');
    const window = await browsing.window(wall);
    await window.open('/now');
    const actors = window.page.getByRole('region', { name: 'Actors' });
    await actors.locator('[data-state=running]').first().waitFor();
    expect(await window.page.getByRole('button', { name: 'Watch model' }).count()).toBe(0);
    await window.close();
  });
});
