// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { expectEnd, LongTalk, relPathOf, scrollUp, seen, settled } from '../support/long-talk.ts';

/** More than the page keeps loaded at once. */
const MANY = 2000;
/** After so many pages of older messages the page keeps no more at once. */
const FULL = 10;

describe.skipIf(!hasBrowser)(`the way to the newest message ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let talk: LongTalk;
  /** The text of the newest message. */
  let newest: string | RegExp = new RegExp(`number ${String(MANY - 1)}\\.`);

  beforeAll(async () => {
    talk = await LongTalk.make(MANY);
  }, SLOW.timeout);
  afterAll(() => talk.end());

  async function visit(path: string, look: (window: Window) => Promise<void>): Promise<void> {
    const window = await browsing.window(talk.web);
    try {
      await window.open(path);
      await look(window);
      expect(window.errors).toEqual([]);
    } finally {
      await window.close();
    }
  }
  /** Opens the conversation at its end, as most readers do, and scrolls up. */
  const above = (pixels: number, look: (window: Window) => Promise<void>): Promise<void> =>
    visit(`/c/${talk.channel}`, async (window) => {
      await expectEnd(window, newest);
      await scrollUp(window, pixels);
      await settled(window);
      await look(window);
    });
  const toNewest = ({ page }: Window) => page.getByRole('button', { name: /to the newest/ });

  it.each([
    ['a little', 40],
    ['some screens', 4000],
    // The page has dropped the newest messages then.
    ['more than is kept loaded', 150_000],
  ])('the key End leads there from %s above, and does so again', (_, pixels) =>
    above(pixels, async (window) => {
      await window.page.keyboard.press('End');
      await expectEnd(window, newest);
      await scrollUp(window, 300);
      await settled(window);
      await window.page.keyboard.press('End');
      await expectEnd(window, newest);
    }),
  );

  it('the way there is not lost when everything has to be loaded again meanwhile', () =>
    // So far above that the newest messages are not loaded, whatever the time it takes.
    visit(`/m/${talk.channel}/${relPathOf(500)}`, async (window) => {
      const { page } = window;
      await page.locator('article[aria-current=true]').waitFor();
      await settled(window);
      // The server no longer knows the last event, as after a restart, while the end is on its way.
      await page.route('**/api/events*', (route) =>
        route.continue({ url: route.request().url().replace(/\?.*/, '?last_event_id=gone-1') }),
      );
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      await page.route(/\/messages\?limit=60$/, async (route) => {
        await held;
        await route.continue();
      });
      const asked = page.waitForRequest(/\/messages\?limit=60$/);
      await page.keyboard.press('End');
      await asked;
      const renewed = page.waitForResponse(/\/api\/now$/);
      await page.evaluate("dispatchEvent(new Event('online'))");
      await renewed;
      release();
      await expectEnd(window, newest);
    }));

  it('older messages that come after the key do not push the newest out', () =>
    visit(`/c/${talk.channel}`, async (window) => {
      const { page } = window;
      await expectEnd(window, newest);
      let asked = 0;
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      await page.route(/[?&]before=/, async (route) => {
        asked += 1;
        if (asked >= FULL) await held;
        await route.continue().catch(() => undefined);
      });
      await page.locator('.windowed').hover();
      await soon(async () => {
        // Whoever is faster than the loading gets beyond it, where nothing is asked for in turn.
        if (asked < FULL) {
          await settled(window);
          await page.mouse.wheel(0, -1500);
        }
        return asked;
      }).toBe(FULL);
      await settled(window);
      await page.keyboard.press('End');
      await expectEnd(window, newest);
      release();
      await expectEnd(window, newest);
    }));

  it.each([
    ['a little', 40],
    ['more than is kept loaded', 150_000],
  ])('the button leads there from %s above, and then the list has the focus', (_, pixels) =>
    above(pixels, async (window) => {
      await toNewest(window).click();
      await expectEnd(window, newest);
      await soon(() => toNewest(window).count()).toBe(0);
      await soon(() => window.page.evaluate('document.activeElement.getAttribute("role")')).toBe(
        'feed',
      );
    }),
  );

  it('a key pressed while items are still measured or loaded is not lost', () =>
    visit(`/m/${talk.channel}/${relPathOf(1000)}`, async (window) => {
      await window.page.locator('article[aria-current=true]').waitFor();
      await window.page.keyboard.press('Home');
      await window.page.keyboard.press('End');
      await expectEnd(window, newest);
      // The list measures what it shows for the first time, and End is pressed in the same moment.
      await window.page.evaluate(`(() => {
        const box = document.querySelector('.windowed');
        box.scrollTop -= 3000;
        dispatchEvent(new KeyboardEvent('keydown', { key: 'End' }));
        requestAnimationFrame(() => {
          box.scrollTop -= 2500;
          dispatchEvent(new KeyboardEvent('keydown', { key: 'End' }));
        });
      })()`);
      await expectEnd(window, newest);
    }));

  it('a message that was linked to does not keep the reader from the end', () =>
    visit(`/m/${talk.channel}/${relPathOf(500)}`, async (window) => {
      await window.page.locator('article[aria-current=true]').waitFor();
      await toNewest(window).click();
      await expectEnd(window, newest);
      await scrollUp(window, 2000);
      await window.page.keyboard.press('End');
      await expectEnd(window, newest);
    }));

  it('the place to which the scroll bar is put is kept, also while items are measured', () =>
    visit(`/c/${talk.channel}`, async (window) => {
      await window.page.locator('article').first().waitFor();
      await window.page.evaluate(
        "(() => { const box = document.querySelector('.windowed'); box.scrollTop = box.scrollHeight / 2; })()",
      );
      await soon(() => seen(window)).toBeLessThan(MANY - 500);
      await settled(window);
      expect(await seen(window)).toBeLessThan(MANY - 500);
    }));

  it('new messages are counted while one is above, and the button leads to them', () =>
    above(900, async (window) => {
      await talk.host.send('ben', 'the first new one', '--channel', talk.channel);
      const button = window.page.getByRole('button', { name: /new below/ });
      await button.waitFor();
      await talk.host.send('ben', 'the second new one', '--channel', talk.channel);
      newest = 'the second new one';
      await window.page.getByRole('button', { name: '2 new below' }).waitFor();
      await button.click();
      await expectEnd(window, newest);
      await soon(() => button.count()).toBe(0);
    }));

  it.each([
    ['a little', 40],
    ['more than is kept loaded', 150_000],
  ])('what one sends from %s above is shown', (_, pixels) =>
    above(pixels, async (window) => {
      const { page } = window;
      await page.getByRole('combobox', { name: 'To' }).fill('ben');
      await page.getByRole('textbox', { name: /^Message/ }).fill(`mine from ${String(pixels)}`);
      await page.getByRole('textbox', { name: /^Message/ }).press('Control+Enter');
      newest = `mine from ${String(pixels)}`;
      await expectEnd(window, newest);
      // It stays there when it has arrived on the bus.
      await soon(() => page.getByText('queued, not on the remote yet').count()).toBe(0);
      await expectEnd(window, newest);
    }),
  );
});
