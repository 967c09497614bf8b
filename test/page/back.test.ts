// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { expectEnd, LongTalk, place, scrollUp, settled } from '../support/long-talk.ts';

const MANY = 2000;
/** Ids of channels, enough for a list that has to be scrolled. */
const OTHERS = Array.from(
  { length: 40 },
  (_, n) => `aaaaaaaa-2222-4333-8444-${String(n).padStart(12, '0')}`,
);

describe.skipIf(!hasBrowser)(`the way back ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let talk: LongTalk;

  beforeAll(async () => {
    talk = await LongTalk.make(MANY);
    const files = OTHERS.map((id, n) => [
      `data/channels/${id}/CHANNEL.md`,
      `---\nname: room ${String(n)}\n---\nA room.\n`,
    ]);
    talk.host.edit(Object.fromEntries(files) as Record<string, string>);
    await talk.host.run('sync');
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
  const expectPlace = async (window: Window, before: { text: string; top: number }) => {
    await soon(async () => {
      const { text, top } = await place(window);
      return text === before.text && Math.abs(top - before.top) <= 2;
    }).toBe(true);
    const { text, top } = await settled(window);
    expect([text, Math.abs(top - before.top) <= 2]).toEqual([before.text, true]);
  };
  const top = ({ page }: Window) =>
    page.evaluate<number>("document.querySelector('.main').scrollTop");
  /** Clicks the last matching element that is visible, without scrolling to it as `click` may. */
  const clickVisible = ({ page }: Window, selector: string) =>
    page.evaluate(
      `[...document.querySelectorAll('${selector}')].findLast((one) => {
        const { top, bottom } = one.getBoundingClientRect();
        return top > 150 && bottom < 600;
      }).click()`,
    );
  /** Scrolls the view, and returns how far that went. */
  const scrolled = async (window: Window, by: number): Promise<number> => {
    await soon(() =>
      window.page.evaluate(
        `(() => { const box = document.querySelector('.main'); box.scrollTop = ${String(by)}; return box.scrollTop; })()`,
      ),
    ).toBeGreaterThan(by / 2);
    // The page hears of it with the next frame, which no hand would be faster than.
    await window.page.evaluate(
      'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
    );
    return top(window);
  };

  it.each([
    ['a little', 300],
    ['far', 60_000],
  ])(
    'leads to the same place of a conversation, %s above its end, also after loading anew',
    (_, up) =>
      visit(`/c/${talk.channel}`, async (window) => {
        const { page } = window;
        await expectEnd(window, new RegExp(`number ${String(MANY - 1)}\\.`));
        await scrollUp(window, up);
        const before = await settled(window);
        await page
          .getByRole('navigation', { name: 'Parts' })
          .getByRole('link', { name: 'Now' })
          .click();
        await page.locator('.verdict').first().waitFor();
        await page.goBack();
        await expectPlace(window, before);
        await page.reload();
        await expectPlace(window, before);
        // Another message of the same conversation does not change where this entry was.
        await clickVisible(window, 'article [aria-label="Link to this message"]');
        await page.locator('article[aria-current=true]').waitFor();
        await scrollUp(window, up + 3000);
        // What is left of the wheel would move the list after the way back, as it should.
        await settled(window);
        await page.goBack();
        await expectPlace(window, before);
        // The channel itself is asked for anew: that leads to its end.
        await page.getByRole('link', { name: 'general' }).click();
        await expectEnd(window, new RegExp(`number ${String(MANY - 1)}\\.`));
      }),
  );

  it('leads to the same place in the list of conversations', () =>
    visit('/c', async (window) => {
      const { page } = window;
      await page.locator('.channel-list li').nth(40).waitFor();
      const before = await scrolled(window, 900);
      await clickVisible(window, '.channel-list a');
      await page.getByLabel(/^Messages in room/).waitFor();
      await page.goBack();
      await soon(() => top(window)).toBe(before);
    }));

  it('leads to the same words, results and place of a search', () =>
    visit('/search', async (window) => {
      const { page } = window;
      const words = page.getByRole('searchbox');
      await words.fill('and more words');
      await page.locator('.hits li').nth(15).waitFor();
      await page.waitForURL('**/search?q=and+more+words');
      const before = await scrolled(window, 700);
      await clickVisible(window, '.hits a');
      await page.locator('article[aria-current=true]').waitFor();
      await page.goBack();
      await soon(() => words.inputValue()).toBe('and more words');
      await soon(() => top(window)).toBe(before);
      // From one search to the one before, while the field has the focus.
      await page
        .getByRole('navigation', { name: 'Parts' })
        .getByRole('link', { name: 'Search' })
        .click();
      await soon(() => words.inputValue()).toBe('');
      await words.fill('number');
      await page.waitForURL('**/search?q=number');
      await words.focus();
      await page.goBack();
      await soon(() => words.inputValue()).toBe('and more words');
      await page.goForward();
      await soon(() => words.inputValue()).toBe('number');
      await page.waitForURL('**/search?q=number');
    }));

  it('leads to the same period of Flow, which its address names', () =>
    visit('/flow', async (window) => {
      const { page } = window;
      const pressed = page.locator('.controls [aria-pressed=true]');
      await page.getByRole('button', { name: '1 h' }).click();
      await page.waitForURL('**/flow?length=3600');
      await page.getByRole('button', { name: 'Earlier' }).click();
      await page.waitForURL(/\/flow\?length=3600&until=\d{4}-/);
      const address = page.url();
      await page
        .getByRole('navigation', { name: 'Parts' })
        .getByRole('link', { name: 'Now' })
        .click();
      await page.locator('.verdict').first().waitFor();
      await page.goBack();
      await soon(() => pressed.allTextContents()).toEqual(['1 h']);
      expect(page.url()).toBe(address);
      await page.reload();
      await soon(() => pressed.allTextContents()).toEqual(['1 h']);
      await page.getByRole('button', { name: 'Now', exact: true }).click();
      await page.waitForURL('**/flow?length=3600');
      await page
        .getByRole('navigation', { name: 'Parts' })
        .getByRole('link', { name: 'Flow' })
        .click();
      await soon(() => pressed.allTextContents()).toEqual(['6 h', 'Now']);
    }));
});
