// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { LongTalk, numbered, place, relPathOf, seen, settled } from '../support/long-talk.ts';

const MANY = 20_000;

describe.skipIf(!hasBrowser)(
  `a channel of ${String(MANY)} messages on the page ${UNLESS}`,
  SLOW,
  () => {
    const browsing = new Browsing();
    let talk: LongTalk;
    let channel: string;

    beforeAll(async () => {
      talk = await LongTalk.make(MANY);
      ({ channel } = talk);
    }, SLOW.timeout);
    afterAll(() => talk.end());

    async function visit(path: string, look: (window: Window) => Promise<void>): Promise<void> {
      const window = await browsing.window(talk.web);
      try {
        await window.open(path);
        await look(window);
        // Never more than the items near the reader.
        expect(await window.page.locator('article').count()).toBeLessThan(80);
        expect(window.errors).toEqual([]);
      } finally {
        await window.close();
      }
    }

    it('opens at its newest message and goes to the oldest and back by keys', () =>
      visit(`/c/${channel}`, async (window) => {
        await numbered(window, MANY - 1).waitFor();
        await window.page.getByText(/^20,\d{3} messages$/).waitFor();
        await window.page.keyboard.press('Home');
        await numbered(window, 0).waitFor();
        await window.page.keyboard.press('End');
        await numbered(window, MANY - 1).waitFor();
      }));

    it('opens at any message, and pages from there in both directions', () =>
      visit(`/m/${channel}/${relPathOf(9000)}`, async (window) => {
        await window.page
          .locator('article[aria-current=true]', { hasText: 'number 9000.' })
          .waitFor();
        await window.page.locator('.windowed').hover();
        const turned = async (by: number): Promise<number> => {
          await window.page.mouse.wheel(0, by);
          return seen(window);
        };
        // Farther than one page of the server's answers.
        await soon(() => turned(1500)).toBeGreaterThan(9100);
        await soon(() => turned(-1500)).toBeLessThan(8900);
      }));

    it('goes to where its scroll bar is put', () =>
      visit(`/c/${channel}`, async (window) => {
        await numbered(window, MANY - 1).waitFor();
        // A hand that drags scrolls repeatedly: a single scroll may happen while the list still
        // measures the items at its end, and would be reverted.
        await soon(async () => {
          if ((await seen(window)) > MANY - 1000)
            await window.page.evaluate(
              "(() => { const box = document.querySelector('.windowed'); box.scrollTop = box.scrollHeight / 2; })()",
            );
          return seen(window);
        }).toSatisfy((n: number) => n > 9000 && n < 11_000);
      }));

    it('does not move what is read when something new arrives, and says so', () =>
      visit(`/m/${channel}/${relPathOf(MANY - 40)}`, async (window) => {
        const { page } = window;
        await page.locator('article[aria-current=true]').waitFor();
        const first = await place(window);
        await page.evaluate("document.querySelector('.windowed').scrollTop -= 200");
        await soon(() => place(window)).not.toEqual(first);
        const before = await settled(window);
        await talk.host.send('ben', 'something new', '--channel', channel);
        await page.getByRole('button', { name: /new below/ }).waitFor();
        const after = await place(window);
        expect(after.text).toBe(before.text);
        expect(Math.abs(after.top - before.top)).toBeLessThanOrEqual(1);
        await page.getByRole('button', { name: /new below/ }).click();
        await page.locator('article', { hasText: 'something new' }).last().waitFor();
      }));
  },
);
