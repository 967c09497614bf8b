import { describe, expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Schedules and subscriptions in Flow ${UNLESS}`, SLOW, () => {
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

  it(
    'subscriptions have a lane each beside them, and what cannot be read is in Now until it is right',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: 'cat > /dev/null; echo done', next: 'true' });
      const web = await Web.open(host);
      const window = await browsing.window(web);
      const { page } = window;
      try {
        await window.open('/now');
        await page.getByRole('region', { name: 'Outbox' }).waitFor();
        const broken = page.getByRole('region', { name: 'Definitions that cannot be read' });
        expect(await broken.count()).toBe(0);
        const text = (source: string, more = ''): string =>
          `---\nsource: ${source}\nto: next\n${more}---\n/review it\n`;
        host.edit({
          'local/subscriptions/after.md': text('answer:worker'),
          'local/subscriptions/red.md': text('event:build', 'enabled: false\n'),
          'local/subscriptions/<b>odd<b>.md': text('answer:worker'),
          'local/schedules/broken.md': '---\nhost: back\nto: worker\nevery: often\n---\nx\n',
          'local/skills/odd/SKILL.md': 'no header',
        });
        await host.news();
        await soon(() => broken.locator('li').allInnerTexts()).toEqual([
          expect.stringMatching(
            /^schedule local\/schedules\/broken\.md\s+line 4: every is "often"/,
          ),
          expect.stringMatching(/^subscription local\/subscriptions\/<b>odd<b>\.md\s/),
          expect.stringMatching(/^skill local\/skills\/odd\/SKILL\.md\s/),
        ]);
        host.remove('local/schedules/broken.md');
        await host.news();
        await soon(() => broken.locator('li').count()).toBe(2);

        const asked = await host.send('worker', 'begin');
        await host.once();
        await window.open('/flow');
        const lanes = page.locator('.subscriptions li');
        await soon(() => lanes.allInnerTexts()).toEqual([
          expect.stringMatching(/^<b>odd<b>\s+cannot be read$/),
          expect.stringMatching(/^after\s+answers of worker$/),
          expect.stringMatching(/^red\s+paused$/),
        ]);
        expect(await page.locator('.schedules').count()).toBe(0);
        const fired = page.locator('.subscriptions .drawing a');
        await soon(() => fired.count()).toBe(1);
        expect(await fired.getAttribute('aria-label')).toMatch(/^after sent a message \d{4}-/);
        await page.setViewportSize(PHONE);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(
          true,
        );
        await window.open(`/t/${host.channel()}/${asked}`);
        await page.getByText(/^given by subscription after, /).waitFor();
        await page
          .getByRole('link', { name: 'asks for skill review (upstream/skills/review/SKILL.md)' })
          .click();
        await page.waitForURL('**/skills/review');
        expect(window.errors).toEqual([]);
      } finally {
        await window.close();
        await web.stop();
      }
    },
  );
});
