import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage, type Message } from '../../src/protocol/message.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS } from '../support/browser.ts';
import { hasSshKeygen, Key, signs, WITH_SSH_KEYGEN } from '../support/keys.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

/** Answers that came meanwhile: more than a list would show at first. */
const MANY = 30;
const NAMES = { failed: 'Retry painter: the command failed' };

const IS_READY = hasBrowser && hasSshKeygen;

describe.skipIf(!IS_READY)(
  `the inbox, where the day begins ${UNLESS} ${WITH_SSH_KEYGEN}`,
  SLOW,
  () => {
    const browsing = new Browsing();
    let host: Host;
    let web: Web;
    let task: string;

    beforeEach(async () => {
      const bus = new Bus();
      host = await bus.host('front', {
        painter: { default: { cli: 'cat > /dev/null; echo no paint >&2; exit 4', attempts: 1 } },
        boss: 'cat > /dev/null',
      });
      await signs(host, new Key(host, 'operator'), 'operator');
      task = await host.send('painter', 'paint the fence');
      await host.once();
      const begun = Date.now();
      const message = (n: number, body: string, more: Partial<Message> = {}): [string, string] => {
        const at = new Date(begun + n);
        const relPath = relPathAt(at, n.toString(16).padStart(12, '0'));
        const written: Message = {
          ...{ from: 'boss', to: [{ name: 'operator' }], type: 'text', re: [task], cause: [] },
          ...{ timestamp: at.toISOString(), host: 'tower', extra: {}, body: `${body}\n`, ...more },
        };
        return [messageFile(host.channel(), relPath), formatMessage(written)];
      };
      host.edit(
        Object.fromEntries([
          message(1, 'which colour?', { from: 'carol', re: [], options: ['red', 'green'] }),
          message(2, 'I will paint it red.', { from: 'builder', interim: true, proposal: true }),
          ...Array.from({ length: MANY }, (_, n) => message(3 + n, `answer ${String(n)}`)),
        ]),
      );
      await host.news();
      // Everything is in the index.
      expect((await host.run('inbox', '--count')).code).toBe(0);
      web = await Web.open(host);
    }, SLOW.timeout);
    afterEach(() => web.stop());

    it('has everything that waits, what asks first, on a phone within the first 300 pixels', async () => {
      const window = await browsing.window(web, { viewport: PHONE });
      const { page } = window;
      const rows = page.getByRole('list', { name: 'What waits for you' }).locator('.row');
      await soon(() => rows.count()).toBe(MANY + 3);
      const first = await rows.first().boundingBox();
      expect(first?.y).toBeLessThan(300);
      const wide =
        "[...document.querySelectorAll('.queue .row')].filter((row) => row.scrollWidth > row.clientWidth).length";
      expect(await page.evaluate(wide)).toBe(0);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
      const kinds = await rows.locator('.title .chip').allInnerTexts();
      expect(kinds.slice(0, 2).toSorted()).toEqual(['? asks you', '? plan']);
      // What belongs to one question stands together, and names it once: the plan, the failure, the answers.
      expect(await page.getByRole('link', { name: 'operator: paint the fence' }).count()).toBe(3);
      expect(await page.title()).toMatch(new RegExp(`^\\(${String(MANY + 3)}\\) Inbox`));
      expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain(
        encodeURIComponent(`>${String(MANY + 3)}<`),
      );
      if (process.env['SCREENSHOTS'] !== undefined)
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/inbox-phone.png` });
      await page.getByRole('link', { name: /^Failed/ }).click();
      await soon(() => rows.count()).toBe(1);
      await rows.getByRole('button', { name: NAMES.failed }).waitFor();
      await page.getByText('no paint').waitFor();
      await window.close();
    });

    it('is worked through by keys, and nothing moves until one leaves', async () => {
      const window = await browsing.window(web);
      const { page } = window;
      const rows = page.getByRole('list', { name: 'What waits for you' }).locator('.row');
      await soon(() => rows.count()).toBe(MANY + 3);
      const focused = page.locator('.row:focus');
      const marked = page.locator('.row.over');

      // A decision is read before it can be made.
      const at = await page.evaluate<number>(
        "[...document.querySelectorAll('.row')].findIndex((one) => one.textContent.includes('I will'))",
      );
      for (let n = 0; n <= at; n++) await page.keyboard.press('j');
      await focused.getByText('I will paint it red.').waitFor();
      await page.keyboard.press('a');
      await soon(() => page.evaluate('document.activeElement.tagName')).toBe('PRE');
      if (process.env['SCREENSHOTS'] !== undefined)
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/inbox-wide.png` });
      expect(host.bus.from('operator')).toHaveLength(1);
      await page.keyboard.press('a');
      await soon(() => page.evaluate('document.activeElement.textContent')).toBe('Approve');
      await page.keyboard.press('Escape');
      for (let n = 0; n <= at; n++) await page.keyboard.press('k');

      await page.getByRole('button', { name: '1) red' }).click();
      await until('the choice', () =>
        host.bus.from('operator').find(({ message }) => message.body.trim() === 'red'),
      );
      await soon(() => marked.count()).toBe(1);

      const answer = rows.filter({
        has: page.getByRole('link', { name: 'answer 7', exact: true }),
      });
      const place = (): Promise<unknown> =>
        page.evaluate("[...document.querySelectorAll('.row')].at(-1).offsetTop");
      await answer.focus();
      const before = await place();
      const height = async (): Promise<number> => (await answer.boundingBox())?.height ?? 0;
      const high = await height();
      await page.keyboard.press('e');
      await soon(() => marked.count()).toBe(2);
      expect(await answer.getAttribute('class')).toContain('over');
      expect(await height()).toBe(high);
      expect(await place()).toBe(before);
      await soon(() => page.title()).toMatch(new RegExp(`^\\(${String(MANY + 1)}\\) `));
      expect((await host.run('inbox', '--count')).out.trim()).toBe(String(MANY + 1));

      await page.keyboard.press('g');
      await page.keyboard.press('n');
      await page.getByRole('heading', { name: 'Now' }).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('i');
      await soon(() => rows.count()).toBe(MANY + 1);
      expect(await marked.count()).toBe(0);
      expect(window.errors).toEqual([]);
      await window.close();
    });
  },
);
