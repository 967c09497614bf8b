import { describe, expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Schedules in Flow ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();

  it('have a lane each with what they have sent, and none where there are none', async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat > /dev/null; echo done' });
    await host.send('worker', 'by hand');
    const web = await Web.open(host);
    const window = await browsing.window(web);
    const { page } = window;
    try {
      await window.open('/flow');
      await page.locator('.drawing a').first().waitFor();
      expect(await page.locator('.schedules').count()).toBe(0);

      const text = (header: string): string =>
        `---\nhost: front\nto: worker\n${header}\n---\nwhat is new?\n`;
      host.edit({
        'local/schedules/standup.md': text('cron: "0 9 * * 1-5"\ntimezone: UTC'),
        'local/schedules/night.md': text('every: 1d\nenabled: false'),
        'local/schedules/<b>odd<b>.md': text('every: 1d'),
        'local/schedules/broken.md': text('every: often'),
      });
      const sent = await host.run('schedule', 'run', 'standup');
      expect(sent.code, sent.err).toBe(0);
      await page.reload();
      const lanes = page.locator('.schedules li');
      await soon(() => lanes.allInnerTexts()).toEqual([
        expect.stringMatching(/^<b>odd<b>\s+cannot be read$/),
        expect.stringMatching(/^broken\s+cannot be read$/),
        expect.stringMatching(/^night\s+paused$/),
        expect.stringMatching(/^standup\s+next .*09:00$/),
      ]);
      const fired = page.locator('.schedules a');
      await soon(() => fired.count()).toBe(1);
      expect(await fired.getAttribute('aria-label')).toMatch(/^standup sent a message \d{4}-/);
      if (process.env['SCREENSHOTS'] !== undefined)
        await page.screenshot({
          path: `${process.env['SCREENSHOTS']}/schedules.png`,
          fullPage: true,
        });
      await page.setViewportSize(PHONE);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await fired.focus();
      await page.keyboard.press('Enter');
      await page.getByText('what is new?').first().waitFor();
      expect(window.errors).toEqual([]);
    } finally {
      await window.close();
      await web.stop();
    }
  });
});
