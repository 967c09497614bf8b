// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Web } from '../support/web.ts';

const MANY = 40;
const relPathOf = (n: number): string =>
  relPathAt(new Date(Date.UTC(2026, 5, 9, 19, n)), n.toString(16).padStart(12, '0'));
const LINKED = `https://example.com/${relPathOf(1)}`;
/** The last messages; the earlier ones are filled with words. */
const SPECIAL: Record<number, string> = {
  [MANY - 4]:
    `[![picture](https://example.com/p.png)](https://example.com/a) and [see ${relPathOf(1)}](https://example.com/b) and ${LINKED} and ${relPathOf(2)}`,
  [MANY - 3]: 'שלום עולם, and then English\n\n- שלום\n- more\n\nEnglish first, שלום',
  [MANY - 1]: 'an answer',
};

describe.skipIf(!hasBrowser)(
  `the page by keyboard, by ear and in other scripts ${UNLESS}`,
  SLOW,
  () => {
    const browsing = new Browsing();
    let host: Host;
    let web: Web;
    let channel: string;

    beforeAll(async () => {
      host = await new Bus().host('front', {
        worker: 'cat',
        painter: { default: { cli: 'exit 4', attempts: 1 } },
      });
      channel = host.channel();
      const files = Array.from({ length: MANY }, (_, n) => [
        messageFile(channel, relPathOf(n)),
        formatMessage({
          from: 'anna',
          to: [{ name: 'ben' }],
          type: 'text',
          timestamp: new Date(Date.UTC(2026, 5, 9, 19, n)).toISOString(),
          re: n === MANY - 1 ? [relPathOf(MANY - 6)] : [],
          cause: [],
          extra: {},
          body: `${SPECIAL[n] ?? `number ${String(n)}.\n\nwords\n\nmore words`}\n`,
        }),
      ]);
      host.edit(Object.fromEntries(files) as Record<string, string>);
      await host.run('sync');
      const other = (await host.run('channel', 'create', 'side room')).out.trim();
      await host.send('painter', 'paint the fence', '--channel', other);
      await host.once();
      web = await Web.open(host);
    }, SLOW.timeout);
    afterAll(() => web.stop());

    async function visit(
      path: string,
      look: (window: Window) => Promise<void>,
      options: Parameters<Browsing['window']>[1] = {},
    ): Promise<void> {
      const window = await browsing.window(web, options);
      try {
        await window.open(path);
        await look(window);
        expect(window.errors).toEqual([]);
      } finally {
        await window.close();
      }
    }
    /** The focused element: its role or tag, and the beginning of its name or text. */
    const focused = ({ page }: Window): Promise<string> =>
      page.evaluate(`(() => {
      const { activeElement: one } = document;
      return (one.role ?? one.tagName.toLowerCase()) + ' ' + (one.ariaLabel ?? one.textContent).slice(0, 30);
    })()`);
    const conversation = (look: (window: Window) => Promise<void>): Promise<void> =>
      visit(`/c/${channel}`, async (window) => {
        await window.page.locator('article', { hasText: 'an answer' }).waitFor();
        await look(window);
      });

    it('a link within a conversation gives the focus to the message it leads to', () =>
      conversation(async (window) => {
        const link = window.page.getByRole('link', { name: /^answers anna/ });
        await link.focus();
        await window.page.keyboard.press('Enter');
        await window.page.waitForURL(`**/m/${channel}/${relPathOf(MANY - 6)}`);
        await soon(() => window.page.evaluate('document.activeElement.ariaCurrent')).toBe('true');
      }));

    it('a focused message that is scrolled away leaves the focus to the list', () =>
      conversation(async (window) => {
        const { page } = window;
        await page.keyboard.press('k');
        await soon(() => focused(window)).toMatch(/^article/);
        await page.locator('.windowed').hover();
        await soon(async () => {
          await page.mouse.wheel(0, -1500);
          return focused(window);
        }).toBe('feed Messages in general');
      }));

    it('Escape in a field gives the focus to the conversation, whose keys then work', () =>
      conversation(async (window) => {
        const { page } = window;
        await page.getByRole('textbox', { name: /^Message/ }).focus();
        await page.keyboard.press('Escape');
        await soon(() => focused(window)).toBe('feed Messages in general');
        await page.keyboard.press('?');
        await page.getByRole('dialog').waitFor();
        await page.keyboard.press('Escape');
        await soon(() => page.getByRole('dialog').count()).toBe(0);
        expect(await focused(window)).toBe('feed Messages in general');
      }));

    it('the help leaves the focus in the view when nothing had it before', () =>
      conversation(async (window) => {
        const { page } = window;
        expect(await focused(window)).toMatch(/^body/);
        await page.keyboard.press('?');
        await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
        await soon(() => focused(window)).toBe('feed Messages in general');
      }));

    it('every change of the view has the focus in the view', () =>
      visit('/now', async (window) => {
        const { page } = window;
        await page.locator('h1', { hasText: 'Now' }).waitFor();
        const isInside = 'document.querySelector("main").contains(document.activeElement)';
        for (const keys of ['gi', 'gc', 'gf', 'gn', 'w', 'Escape', 'Escape', '/']) {
          for (const key of keys === 'Escape' ? [keys] : keys) await page.keyboard.press(key);
          await soon(() => page.evaluate(isInside)).toBe(true);
        }
        await page.getByRole('searchbox').fill('number');
        await page.locator('.hits a').first().focus();
        await page.keyboard.press('Enter');
        await page.locator('article').first().waitFor();
        await soon(() => page.evaluate(isInside)).toBe(true);
        await page.goBack();
        await soon(() => page.evaluate(isInside)).toBe(true);
      }));

    it('a pressed button that becomes unusable hands the focus to its neighbour', () =>
      visit('/flow', async (window) => {
        const { page } = window;
        await page.getByRole('button', { name: 'Earlier' }).click();
        await page.getByRole('button', { name: 'Later' }).focus();
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name: 'Later' }).and(page.locator(':disabled')).waitFor();
        await soon(() => focused(window)).toBe('button Earlier');
      }));

    it('a button of a dead letter leaves the focus in its card', () =>
      visit('/now', async (window) => {
        const { page } = window;
        const card = page.getByRole('region', {
          name: 'Dead letters and parked mail',
          exact: true,
        });
        await card.getByRole('button', { name: /^Retry / }).focus();
        await page.keyboard.press('Enter');
        await card.getByText('1 released').waitFor();
        await soon(() =>
          page.evaluate("document.activeElement.closest('section')?.ariaLabel"),
        ).toBe('Dead letters and parked mail');
      }));

    it('a send that fails leaves the focus where it was', () =>
      conversation(async (window) => {
        const { page } = window;
        const refusal = { error: 'refused', message: 'no room.' };
        await page.route('**/api/send', (route) => route.fulfill({ status: 409, json: refusal }));
        await page.getByRole('textbox', { name: /^Message/ }).fill('text');
        await page.getByRole('combobox', { name: 'To' }).fill('nobody');
        await page.keyboard.press('Enter');
        await page
          .getByText(/Your text is still here/)
          .first()
          .waitFor();
        expect(await focused(window)).toMatch(/^combobox/);
        await page.getByRole('button', { name: 'Send' }).focus();
        await page.keyboard.press('Enter');
        await page
          .getByText(/Your text is still here/)
          .first()
          .waitFor();
        expect(await focused(window)).toBe('button Send');
      }));

    it('each message has its position among all of the channel', () =>
      conversation(async ({ page }) => {
        const last = page.locator('article', { hasText: 'an answer' });
        expect(await last.getAttribute('aria-posinset')).toBe(String(MANY));
        expect(await last.getAttribute('aria-setsize')).toBe(String(MANY));
      }));

    it('no link is in another one', () =>
      conversation(async ({ page }) => {
        const item = page.locator('article', { hasText: 'picture' });
        await item.waitFor();
        expect(await item.locator('a a').count()).toBe(0);
        expect(
          await item
            .locator('.md a')
            .all()
            .then((all) => Promise.all(all.map((one) => one.getAttribute('href')))),
        ).toEqual([
          'https://example.com/a',
          'https://example.com/b',
          LINKED,
          `/m/${channel}/${relPathOf(2)}`,
        ]);
      }));

    it('each paragraph has the direction of its script', () =>
      conversation(async ({ page }) => {
        await page.locator('article', { hasText: 'and then English' }).waitFor();
        const directions = await page.evaluate(
          `[...document.querySelectorAll('article')].find((one) => one.textContent.includes('and then English'))
            .querySelectorAll('.md > *').values().map((one) => getComputedStyle(one).direction).toArray()`,
        );
        expect(directions).toEqual(['rtl', 'rtl', 'ltr']);
        await page.getByRole('textbox', { name: /^Message/ }).fill('שלום');
        expect(
          await page.evaluate("getComputedStyle(document.querySelector('textarea')).direction"),
        ).toBe('rtl');
      }));

    it.each(['light', 'dark'] as const)('placeholders can be read in %s colours', (colorScheme) =>
      visit(
        `/c/${channel}`,
        async ({ page }) => {
          await page.locator('textarea').first().waitFor();
          const contrast = await page.evaluate<number>(`(() => {
            const one = document.querySelector('textarea');
            const light = (colour) => {
              const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255)
                .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
              return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
            };
            const pair = [light(getComputedStyle(one, '::placeholder').color), light(getComputedStyle(one).backgroundColor)];
            return Math.max(...pair) / Math.min(...pair);
          })()`);
          expect(contrast).toBeGreaterThan(5.5);
        },
        { colorScheme },
      ),
    );

    it('forced colours leave the legend of a picture its colours, and the picture the system’s background', () =>
      visit(
        '/flow',
        async ({ page }) => {
          await page.locator('.timeline .lane').first().waitFor();
          const colours = (selector: string, of: string, pseudo = ''): Promise<string[]> =>
            page.evaluate(
              `[...document.querySelectorAll('${selector}')].map((one) => getComputedStyle(one, '${pseudo}').${of})`,
            );
          const legend = await colours(
            '.key:is(.answered, .running, .failed, .parked)',
            'backgroundColor',
            '::before',
          );
          expect(new Set(legend).size).toBe(4);
          const [canvas] = await colours('body', 'backgroundColor');
          expect(await colours('.lane.even', 'fill')).toContain(canvas);
        },
        { forcedColors: 'active' },
      ));
    it('forced colours leave every state visible', () =>
      visit(
        `/m/${channel}/${relPathOf(MANY - 6)}`,
        async ({ page }) => {
          const drawn = async (selector: string): Promise<unknown> => {
            await page.locator(selector).first().waitFor();
            return page.evaluate(`(() => {
              const style = getComputedStyle(document.querySelector(${JSON.stringify(selector)}));
              return [style.borderInlineStartWidth, style.borderTopWidth, style.backgroundColor].join(' ');
            })()`);
          };
          await page.locator('article[aria-current=true]').waitFor();
          for (const [state, other] of [
            ['article[aria-current=true]', 'article:not([aria-current])'],
            ['.side .tree a[aria-current]', '.side nav a:not([aria-current])'],
            ['.side ul a[aria-current]', '.side ul a:not([aria-current])'],
          ] as const)
            expect(await drawn(state), state).not.toBe(await drawn(other));
          await page.getByRole('button', { name: 'Preview' }).click();
          expect(await drawn('button[aria-pressed=true]')).not.toBe(
            await drawn('.view header .button'),
          );
          await page.getByRole('combobox', { name: 'To' }).fill('w');
          expect(await drawn('.offers [aria-selected=true]')).not.toBe(await drawn('.offers'));
        },
        { forcedColors: 'active' },
      ));
  },
);
