import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebMessagePage } from '../../src/api/api.ts';
import { messageFile } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { relPathAt } from '../../src/protocol/names.ts';
import { Bus, Running, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { fastImport } from '../support/bulk.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const MANY = 20_000;
const FIRST_AT = Date.UTC(2026, 0, 1);

const relPathOf = (n: number): string =>
  relPathAt(new Date(FIRST_AT + n * 60_000), n.toString(16).padStart(12, '0'));
/** The lengths vary, so that no estimate of a height is right. */
const bodyOf = (n: number): string =>
  `number ${String(n)}.${'\n\nand more words of it'.repeat((n * 7) % 5)}\n`;

describe.skipIf(!hasBrowser)(
  `a channel of ${String(MANY)} messages on the page ${UNLESS}`,
  SLOW,
  () => {
    const browsing = new Browsing();
    let host: Host;
    let web: Web;
    let running: Running;
    let channel: string;

    beforeAll(async () => {
      const bus = new Bus();
      host = await bus.host('front', { worker: 'cat' });
      channel = host.channel();
      await fastImport(
        bus.hub,
        Array.from({ length: MANY }, (_, n) => [
          messageFile(channel, relPathOf(n)),
          formatMessage({
            from: 'anna',
            to: [{ name: 'ben' }],
            type: 'text',
            timestamp: new Date(FIRST_AT + n * 60_000).toISOString(),
            re: [],
            cause: [],
            extra: {},
            body: bodyOf(n),
          }),
        ]),
      );
      // The dispatcher should leave 20,000 files in git.
      git(host.dir, 'checkout', '--quiet', '--detach');
      await host.news();
      running = new Running(host, []);
      web = await Web.open(host);
      await until('the index', async () => {
        const path = `/api/channels/${channel}/messages?limit=1`;
        const { complete, total } = await web.get<WebMessagePage>(path);
        return complete && total >= MANY;
      });
    }, SLOW.timeout);
    afterAll(async () => {
      await web.stop();
      await running.stop();
    });

    async function visit(path: string, look: (window: Window) => Promise<void>): Promise<void> {
      const window = await browsing.window(web);
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
    const numbered = ({ page }: Window, n: number) =>
      page.locator('article', { hasText: new RegExp(`number ${String(n)}\\.`) });
    /** The first message that is completely visible, and its distance from the list's top. */
    const place = ({ page }: Window): Promise<{ text: string; top: number }> =>
      page.evaluate(`(() => {
      const box = document.querySelector('.windowed');
      const edge = box.getBoundingClientRect().top;
      const one = [...box.querySelectorAll('article')].find((each) => each.getBoundingClientRect().top >= edge);
      return { text: one?.querySelector('.md')?.firstChild.textContent ?? '', top: Math.round(one?.getBoundingClientRect().top - edge) };
    })()`);
    const seen = async (window: Window): Promise<number> =>
      Number(/number (\d+)/.exec((await place(window)).text)?.[1]);

    /** Where the list stands once it has taken the heights of what it shows, and moves no more. */
    const settled = async (window: Window): ReturnType<typeof place> => {
      let last = await place(window);
      await soon(async () => {
        const before = last;
        last = await place(window);
        return last.text === before.text && last.top === before.top;
      }).toBe(true);
      return last;
    };

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
        await host.send('ben', 'something new', '--channel', channel);
        await page.getByRole('button', { name: /new below/ }).waitFor();
        const after = await place(window);
        expect(after.text).toBe(before.text);
        expect(Math.abs(after.top - before.top)).toBeLessThanOrEqual(1);
        await page.getByRole('button', { name: /new below/ }).click();
        await page.locator('article', { hasText: 'something new' }).last().waitFor();
      }));
  },
);
