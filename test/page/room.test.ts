// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS, WIDE } from '../support/browser.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Web } from '../support/web.ts';

const LONG = 'aaaaaaaa-2222-4333-8444-555555555555';
const LONG_NAME = 'a very long name that somebody has given to a channel';

// A magnified page is a small window: 1280×1024 at 400 % are 320×256.
describe.skipIf(!hasBrowser)(`the page where there is little room ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;
  let channel: string;

  beforeAll(async () => {
    host = await new Bus().host('front', { worker: 'cat' });
    channel = host.channel();
    for (let n = 0; n < 12; n++)
      await host.send('nobody', `line ${String(n)}`, '--channel', channel);
    host.edit({ [`data/channels/${LONG}/CHANNEL.md`]: `---\nname: ${LONG_NAME}\n---\n` });
    await host.send('nobody', 'to the long one', '--channel', LONG);
    await host.run('sync');
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  /** The part of an element's height that is visible, in pixels. */
  const visible = (selector: string): string => `(() => {
    const part = document.querySelector('${selector}').getBoundingClientRect();
    const main = document.querySelector('.main').getBoundingClientRect();
    return Math.min(part.bottom, main.bottom, innerHeight) - Math.max(part.top, main.top, 0);
  })()`;

  it.each([
    [320, 256],
    [320, 400],
    [640, 360],
    [1000, 300],
  ])(
    'at %i×%i at least half of the window is conversation, and one can write',
    async (width, height) => {
      const { page, ...window } = await browsing.window(web, { viewport: { width, height } });
      await page.goto(`${window.origin}/c/${channel}`);
      await page.locator('article', { hasText: 'line 11' }).waitFor();
      await soon(() => page.evaluate<number>(visible('.windowed'))).toBeGreaterThan(height / 2);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      const text = page.getByRole('textbox', { name: /^Message/ });
      await text.click();
      expect(await page.evaluate<number>(visible('.composer textarea'))).toBeGreaterThan(30);
      await page.getByRole('combobox', { name: 'To' }).fill('nobody');
      await text.fill(`written at ${String(width)}×${String(height)}`);
      await page.getByRole('button', { name: 'Send' }).click();
      await page
        .locator('article', { hasText: `written at ${String(width)}×${String(height)}` })
        .waitFor();
      for (const name of ['Talk', 'Flow', 'Search', 'Write', 'Now', 'Inbox'])
        await page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name }).click();
      await window.context.close();
    },
  );

  it('Write has a whole row for the recipients on a narrow screen', async () => {
    const { page, ...window } = await browsing.window(web, {
      viewport: { width: 320, height: 568 },
    });
    await page.goto(`${window.origin}/write`);
    const { width = 0 } = (await page.getByRole('combobox', { name: 'To' }).boundingBox()) ?? {};
    expect(width).toBeGreaterThan(250);
    // What is written to is no part of the way there: the view is Write alone.
    await page.waitForURL('**/write?channel=*');
    expect(await page.locator('.tree [aria-current]').count()).toBe(0);
    await window.context.close();
  });

  it.each([
    ['beside a view', WIDE, '/', '.side .tree'],
    ['in the list of conversations', WIDE, '/c', '.channel-list'],
    ['on a phone', PHONE, '/c', '.channel-list'],
  ])('a long name does not hide the unread counts %s', async (_, viewport, path, list) => {
    const { page, ...window } = await browsing.window(web, { viewport });
    // Both channels were read when they had no messages.
    await page.evaluate(`for (const id of ['${channel}', '${LONG}'])
      localStorage.setItem('crosstalk-read-' + id, JSON.stringify({ count: 0, relPath: '' }));`);
    await page.goto(window.origin + path);
    await page.locator(`${list} .unread`).nth(1).waitFor({ state: 'attached' });
    await page.locator(list).getByText(LONG_NAME).waitFor();
    const out = await page.evaluate(`(() => {
      const box = document.querySelector('${list}').parentElement.getBoundingClientRect();
      return [...document.querySelectorAll('${list} .unread')].map((one) => one.getBoundingClientRect())
        .filter(({ left, right }) => left < box.left || right > Math.min(box.right, innerWidth)).length;
    })()`);
    expect(out).toBe(0);
    await window.context.close();
  });
});
