import { describe, expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Automation ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();

  it('shows schedules and subscriptions, which are run, paused and resumed there, and pauses the machine', async () => {
    const bus = new Bus();
    const host = await bus.host('front', { helper: 'echo done' });
    const header = '---\nhost: front\nto: helper\n';
    host.edit({
      'local/schedules/standup.md': `${header}cron: "0 9 * * 1-5"\ntimezone: UTC\n---\nwhat is new?\n`,
      'local/schedules/<b>odd<b>.md': `${header}every: often\n---\nx\n`,
      'local/subscriptions/review.md': `${header}source: answer:helper\n---\nreview it\n`,
    });
    await host.news();
    const web = await Web.open(host);
    const window = await browsing.window(web);
    const { page } = window;
    try {
      await window.open('/automation');
      const schedules = page.getByRole('region', { name: 'Schedules' });
      const standup = schedules.getByRole('listitem').filter({ hasText: 'standup' });
      await standup.getByText('Next').waitFor();
      await schedules.getByText('<b>odd<b>', { exact: true }).waitFor();
      await standup.getByRole('button', { name: 'Run now: standup' }).click();
      await page.getByText('standup has sent its message.').waitFor();
      expect(bus.messages().map(({ message }) => message.body)).toContain('what is new?\n');
      await standup.getByRole('button', { name: 'Pause: standup' }).click();
      await standup.getByText('paused', { exact: true }).waitFor();
      expect((await host.run('schedule', 'list')).out).toContain('paused');
      await standup.getByRole('button', { name: 'Resume: standup' }).click();
      await standup.getByText('Next').waitFor();
      const review = page.getByRole('region', { name: 'Subscriptions' }).getByRole('listitem');
      await review.getByRole('button', { name: 'Pause: review' }).click();
      await review.getByText('paused', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Pause: this machine' }).click();
      await page.getByText('mail waits, and nothing runs').waitFor();
      await page.getByRole('button', { name: 'Resume: this machine' }).click();
      await page.getByText('Runs start as mail comes.').waitFor();
      if (process.env['SCREENSHOTS'] !== undefined)
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/automation.png` });
      await page.setViewportSize(PHONE);
      await soon(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(
        true,
      );
      expect(window.errors).toEqual([]);
    } finally {
      await window.close();
      await web.stop();
    }
  });

  it('has nothing to press where the window may only read', async () => {
    const host = await new Bus().host('front', { helper: 'echo done' });
    const web = await Web.open(host, '--read-only');
    const window = await browsing.window(web);
    try {
      await window.open('/automation');
      await window.page.getByText('Runs start as mail comes.').waitFor();
      expect(await window.page.locator('main button').count()).toBe(0);
    } finally {
      await window.close();
      await web.stop();
    }
  });
});
