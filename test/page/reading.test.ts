import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Web } from '../support/web.ts';

const MANY = 50;
const ACTORS = Array.from({ length: 12 }, (_, n) => `worker${String(n + 1)}`);
const LONG = 'These words are meant to be wrapped at the width of a window. '.repeat(20);
const SENDERS = ['anna', 'worker3', 'operator'];
/** The number of a message that has many lines, and few letters. */
const TALL = MANY - 2;

describe.skipIf(!hasBrowser)(`what is read on the page ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;
  let channel: string;

  beforeAll(async () => {
    host = await new Bus().host('front', Object.fromEntries(ACTORS.map((name) => [name, 'cat'])));
    channel = host.channel();
    const files = Array.from({ length: MANY }, (_, n) => {
      const at = new Date(Date.UTC(2026, 5, 9, 19, n));
      const message = {
        from: SENDERS[n % 3] ?? '',
        to: [{ name: 'ben' }],
        type: 'text',
        timestamp: at.toISOString(),
        re: [],
        cause: [],
        extra: {},
        body: `needle number ${String(n)}.\n\n${n === TALL ? 'line\n'.repeat(40) : n > MANY - 4 ? LONG : ''}\n`,
      };
      const relPath = relPathAt(at, n.toString(16).padStart(12, '0'));
      return [messageFile(channel, relPath), formatMessage(message)];
    });
    host.edit(Object.fromEntries(files) as Record<string, string>);
    await host.run('sync');
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  async function visit(path: string, look: (window: Window) => Promise<void>): Promise<void> {
    const window = await browsing.window(web);
    try {
      await window.open(path);
      await look(window);
      expect(window.errors).toEqual([]);
    } finally {
      await window.close();
    }
  }
  const numbered = ({ page }: Window, n: number) =>
    page.locator('article', { hasText: new RegExp(`number ${String(n)}\\.`) });

  it('a line has about 75 letters, however wide the window is', { tags: 'long' }, () =>
    visit(`/c/${channel}`, async (window) => {
      await numbered(window, MANY - 1).waitFor();
      const letters = await window.page.evaluate(`(() => {
        const text = [...document.querySelectorAll('.md p')].at(-1).firstChild;
        const range = document.createRange();
        range.setStart(text, 0);
        for (let end = 1; end < text.length; end++) {
          range.setEnd(text, end);
          if (range.getBoundingClientRect().height > 30) return end - 1;
        }
      })()`);
      expect(letters).toBeGreaterThan(55);
      expect(letters).toBeLessThanOrEqual(85);
    }),
  );

  it('the reader, other people and agents differ by a sign and by words, and many lines are folded', () =>
    visit(`/c/${channel}`, async (window) => {
      const { page } = window;
      await numbered(window, MANY - 1).waitFor();
      const unfold = numbered(window, TALL).getByRole('button', { name: 'Show all of it' });
      await unfold.waitFor();
      const heading = (n: number) => numbered(window, n).locator('h2').textContent();
      // The kinds are known as soon as the page knows the session and the actors.
      await page.locator('article h2', { hasText: 'operator (you)' }).first().waitFor();
      await page.locator('article h2', { hasText: 'worker3 (agent)' }).first().waitFor();
      const [anna, agent, me] = [MANY - 2, MANY - 1, MANY - 3];
      expect(SENDERS[anna % 3]).toBe('anna');
      expect(
        [await heading(anna), await heading(agent), await heading(me)].map(
          (one) => one?.split(' to ')[0],
        ),
      ).toEqual(['anna', 'worker3 (agent)', 'operator (you)']);
      const signs = await page.evaluate<string[]>(
        "[...document.querySelectorAll('article')].slice(-3).map((one) => { const path = one.querySelector('h2 path'); return path.getAttribute('d') + getComputedStyle(path).fill; })",
      );
      expect(new Set(signs).size).toBe(3);
      await unfold.click();
      await numbered(window, TALL).getByRole('button', { name: 'Show less' }).waitFor();
    }));

  it(
    'a search shows all it has found, by pages, and the way back leads to as many',
    { tags: 'long' },
    () =>
      visit('/search?q=needle', async ({ page }) => {
        const hits = page.locator('.hits > li');
        const more = page.getByRole('button', { name: 'Show more' });
        await page.getByText('Found the best 20.').waitFor();
        await more.press('Enter');
        await page.getByText('Found the best 40.').waitFor();
        // The keyboard continues with the first of the new ones.
        await soon(() =>
          page.evaluate(
            "[...document.querySelectorAll('.hits a')].indexOf(document.activeElement)",
          ),
        ).toBe(20);
        await page.keyboard.press('Enter');
        await page.locator('article[aria-current=true]').waitFor();
        await page.goBack();
        await soon(() => hits.count()).toBe(40);
        await more.click();
        await page.getByText('Found 50.').waitFor();
        expect(await more.count()).toBe(0);
        const texts = await hits.allTextContents();
        expect(new Set(texts).size).toBe(MANY);
        // Other words begin with their first page.
        await page.getByRole('searchbox').fill('number');
        await page.getByText('Found the best 20.').waitFor();
      }),
  );

  it('completion says that there are more names than it offers', () =>
    visit(`/write?channel=${channel}`, async ({ page }) => {
      const to = page.getByRole('combobox', { name: 'To' });
      await to.fill('work');
      await soon(() => page.locator('.offers [role=option]').count()).toBe(8);
      await page.getByText('4 more: type another letter').waitFor();
      await to.fill('worker1');
      await soon(() => page.locator('.offers [role=option]').count()).toBe(4);
      await soon(() => page.getByText(/more: type/).count()).toBe(0);
    }));
});
