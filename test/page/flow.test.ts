import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { MOST_MARKS } from '../../src/page/flow/layout.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS, type Window } from '../support/browser.ts';
import { fastImport } from '../support/bulk.ts';
import { Web } from '../support/web.ts';

const MINUTE = 60_000;
const PAIRS = 700;

// A week in which an actor of another machine answers every quarter of an hour; the last answers are
// hours old, but for one.
describe.skipIf(!hasBrowser)(`Flow, of a busy week ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;

  beforeAll(async () => {
    const bus = new Bus();
    host = await bus.host('front', { worker: 'cat' });
    await bus.host('back', { distant: 'cat' });
    const channel = host.channel();
    const now = Date.now();
    const relPathOf = (when: number, n: number): string =>
      relPathAt(new Date(when), n.toString(16).padStart(12, '0'));
    const pair = (n: number, asked: number, answered: number): [string, string][] => {
      const common = { type: 'text', cause: [], extra: {} };
      const question = relPathOf(asked, 2 * n);
      return [
        [
          messageFile(channel, question),
          formatMessage({
            ...common,
            from: 'anna',
            to: [{ name: 'distant' }],
            timestamp: new Date(asked).toISOString(),
            re: [],
            body: `question ${String(n)}\n`,
          }),
        ],
        [
          messageFile(channel, relPathOf(answered, 2 * n + 1)),
          formatMessage({
            ...common,
            from: 'distant',
            to: [{ name: 'anna' }],
            timestamp: new Date(answered).toISOString(),
            re: [question],
            host: 'back',
            body: `answer ${String(n)}\n`,
          }),
        ],
      ];
    };
    const old = Array.from({ length: PAIRS }, (_, n) => {
      const asked = now - 4 * 60 * MINUTE - n * 13 * MINUTE;
      return pair(n + 1, asked, asked + 5 * MINUTE);
    });
    const last = pair(0, now - 2000, now - 1000);
    await fastImport(bus.hub, [...old.flat(), ...last]);
    await host.news();
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  async function visit(look: (window: Window) => Promise<void>, options = {}): Promise<void> {
    const window = await browsing.window(web, options);
    try {
      await window.open('/flow');
      await window.page.locator('.drawing a').first().waitFor();
      await look(window);
      expect(window.errors).toEqual([]);
    } finally {
      await window.close();
    }
  }
  const focused = ({ page }: Window): Promise<string> =>
    page.evaluate("document.activeElement?.getAttribute('data-mark') ?? ''");

  it('is one tab stop, from which j, k and the arrow keys walk', () =>
    visit(async (window) => {
      const { page } = window;
      const stops = 'filter((one) => one.tabIndex >= 0).length';
      expect(await page.evaluate(`[...document.querySelectorAll('.drawing a')].${stops}`)).toBe(1);
      await page.keyboard.press('j');
      await soon(() => focused(window)).not.toBe('');
      const last = await focused(window);
      await page.keyboard.press('k');
      await soon(() => focused(window)).not.toBe(last);
      const before = await focused(window);
      await page.locator('.tip').waitFor();
      await page.keyboard.press('ArrowRight');
      await soon(() => focused(window)).toBe(last);
      await page.keyboard.press('ArrowLeft');
      await soon(() => focused(window)).toBe(before);
      expect(await page.evaluate(`[...document.querySelectorAll('.drawing a')].${stops}`)).toBe(1);
      // The next tab leaves the picture.
      await page.keyboard.press('Tab');
      await soon(() => page.evaluate("document.activeElement.closest('.drawing') === null")).toBe(
        true,
      );
    }));

  it('draws a whole week with few marks, which say how many they are', { tags: 'long' }, () =>
    visit(async ({ page }) => {
      await page.getByRole('button', { name: '7 d' }).click();
      await page
        .getByRole('link', { name: /distant: \d{2,} runs/ })
        .first()
        .waitFor();
      const marks = await page.locator('.drawing a').count();
      expect(marks).toBeGreaterThan(10);
      expect(marks).toBeLessThanOrEqual(MOST_MARKS);
    }),
  );

  it('is drawn anew when time has moved it by a pixel, and not before', { tags: 'long' }, () =>
    visit(async ({ page }) => {
      await page.getByRole('button', { name: '7 d' }).click();
      await page
        .getByRole('link', { name: /distant: \d{2,} runs/ })
        .first()
        .waitFor();
      await page.evaluate(`globalThis.changed = 0;
        new MutationObserver((list) => { globalThis.changed += list.length; })
          .observe(document.querySelector('.drawing svg'), { subtree: true, attributes: true, childList: true })`);
      // Longer than the step in which the shortest picture moves. Within such a time this one may
      // reach the end of its own step, but not twice in a row.
      const changes = (): Promise<number> =>
        page.evaluate(`new Promise((done) => {
          const before = globalThis.changed;
          setTimeout(() => done(globalThis.changed - before), 3000);
        })`);
      expect([await changes(), await changes()]).toContain(0);
      await page.getByRole('button', { name: '24 h' }).click();
      await soon(() => page.evaluate('globalThis.changed')).not.toBe(0);
    }),
  );

  it('the wheel scrolls the page, and zooms with Ctrl', { tags: 'long' }, () =>
    visit(
      async ({ page }) => {
        const pressed = (): Promise<string | null> =>
          page.getByRole('button', { name: '6 h' }).getAttribute('aria-pressed');
        const scrolled = (): Promise<number> =>
          page.evaluate("document.querySelector('main').scrollTop");
        await page.locator('.drawing').hover();
        await page.mouse.wheel(0, 200);
        await soon(scrolled).toBeGreaterThan(50);
        expect(await pressed()).toBe('true');
        await page.keyboard.down('Control');
        await page.locator('.drawing').hover();
        await page.mouse.wheel(0, 100);
        await page.keyboard.up('Control');
        await soon(pressed).toBe('false');
      },
      { viewport: { width: 1000, height: 500 } },
    ),
  );

  it(
    'an hour without answers is a gap, and the current hour is in the picture',
    { tags: 'long' },
    () =>
      visit(async ({ page }) => {
        await page.locator('.times circle').first().waitFor();
        // The last six hours: one answer just now, then none for almost four hours.
        const places = await page.evaluate<number[]>(`(() => {
        const { left, right } = document.querySelector('.plot svg').getBoundingClientRect();
        return [...document.querySelectorAll('.times circle')].map((one) => {
          const box = one.getBoundingClientRect();
          return (box.left + box.width / 2 - left) / (right - left);
        });
      })()`);
        expect(Math.max(...places)).toBeLessThanOrEqual(1);
        expect(Math.max(...places)).toBeGreaterThan(0.8);
        expect(places.filter((place) => place > 0.5 && place < 0.8)).toEqual([]);
        await page.getByText('In numbers').first().click();
        await page.getByRole('cell', { name: '–', exact: true }).first().waitFor();
      }),
  );

  it('tells what is known of a run of another machine', () =>
    visit(async ({ page }) => {
      const runs = page.getByRole('link', {
        name: /^distant on back answered \d+ (s|min) after the message/,
      });
      await runs.first().waitFor();
      expect(await page.locator('.bar.concluded').count()).toBe(await runs.count());
    }));
});
