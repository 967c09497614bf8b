// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS, WIDE } from '../support/browser.ts';
import { Web } from '../support/web.ts';

const NOTE = 'no host serves somebody; the message waits until one does';

describe.skipIf(!hasBrowser)(`a recipient whom nobody serves ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;

  beforeAll(async () => {
    const bus = new Bus();
    host = await bus.host('front', { worker: 'cat' });
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  it.each([
    ['below a conversation, wide', 'c', WIDE],
    ['below a conversation, on a phone', 'c', PHONE],
    ['in Write, on a phone', 'write', PHONE],
  ])(
    'is told of before and after sending, and nothing of it is cut off: %s',
    async (_, view, viewport) => {
      const window = await browsing.window(web, { viewport });
      const { page } = window;
      const channel = host.channel();
      await window.open(view === 'c' ? `/c/${channel}` : `/write?channel=${channel}`);
      const to = page.getByRole('combobox', { name: 'To' });
      const composer = page.getByRole('form', { name: 'Write a message' });
      await to.fill('worker');
      await page.getByRole('textbox', { name: /^Message/ }).fill('are you there?');
      expect(await composer.getByText(/no host serves/i).count()).toBe(0);
      await to.fill('worker, somebody');
      await to.press('Escape');
      const note = composer.locator('p', { hasText: new RegExp(NOTE, 'i') });
      const isWhole = async (): Promise<void> => {
        await note.waitFor();
        expect(await note.count()).toBe(1);
        const box = await note.boundingBox();
        expect(box?.x).toBeGreaterThanOrEqual(0);
        expect((box?.x ?? 0) + (box?.width ?? Infinity)).toBeLessThanOrEqual(viewport.width);
        expect((box?.y ?? 0) + (box?.height ?? Infinity)).toBeLessThanOrEqual(viewport.height);
        const fits =
          '(one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight';
        expect(
          await page.evaluate(
            `[...document.querySelectorAll('.composer p:not(:empty)')].every(${fits})`,
          ),
        ).toBe(true);
      };
      await isWhole();
      await page.getByRole('button', { name: 'Send' }).click();
      // What was said of the push does not stay after it.
      await composer.getByText(/Sent\./).waitFor();
      expect(await composer.getByText(/Queued\./).count()).toBe(0);
      await soon(() => page.getByRole('textbox', { name: /^Message/ }).inputValue()).toBe('');
      await isWhole();
      expect(window.errors).toEqual([]);
      await window.close();
    },
  );
});
