import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import { Web } from '../support/web.ts';

/** A red point. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
const SCRIPT = '<script>top.document.title = "ran"; document.title = "ran"</script>';
const SVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>top.document.title = "ran"</script></svg>`;

describe.skipIf(!hasBrowser)(`Files on the page ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let bus: Bus;
  let host: Host;
  let web: Web;

  beforeAll(async () => {
    bus = new Bus();
    host = await bus.host('front', { worker: 'cat' });
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  it('a picture that is attached on the page arrives byte for byte, and is shown small, then whole', async () => {
    const { page, context } = await browsing.window(web);
    const { origin } = new URL(web.url);
    await page.goto(`${origin}/c/${host.channel()}`);
    const to = page.getByRole('combobox', { name: 'To' });
    await to.fill('nobody');
    await page.getByRole('textbox', { name: /^Message/ }).fill('look at this');
    await page
      .getByLabel('Attach files')
      .setInputFiles({ name: 'red point.png', mimeType: 'image/png', buffer: PNG });
    await page.getByRole('list', { name: 'Files to send' }).getByText('red point.png').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    const picture = page.getByRole('button', { name: 'Show whole: red point.png' });
    await picture.waitFor();
    // It is loaded where it can be seen.
    await picture.scrollIntoViewIfNeeded();
    await soon(() =>
      page.evaluate('document.querySelector(".picture img")?.naturalWidth ?? 0'),
    ).toBe(1);
    await picture.click();
    await page.getByRole('button', { name: 'Show small: red point.png' }).waitFor();
    const sent = (): Stored | undefined =>
      bus.messages().find(({ message }) => message.body.startsWith('look at this'));
    await soon(() => sent()?.message.files?.[0]).toEqual({
      sha256: createHash('sha256').update(PNG).digest('hex'),
      name: 'red point.png',
      bytes: PNG.length,
      type: 'image/png',
    });
    const out = join(bus.root, 'out');
    await host.run('read', sent()?.relPath ?? '', '--files', out);
    expect(readFileSync(join(out, 'red point.png'))).toEqual(PNG);
    await context.close();
  });

  it(
    'nothing that is attached can run: markup is only saved, and a false picture is not shown',
    { tags: 'long' },
    async () => {
      const files = { 'a.html': SCRIPT, 'b.svg': SVG, 'c.png': SCRIPT };
      const options = Object.entries(files).flatMap(([name, content]) => {
        writeFileSync(join(bus.root, name), content);
        return ['--attach', join(bus.root, name)];
      });
      const relPath = await host.send('nobody', 'hostile', ...options);
      await host.run('sync');
      const { page, context } = await browsing.window(web);
      const { origin } = new URL(web.url);
      for (const [n, show] of [
        [1, ''],
        [2, ''],
        [3, ''],
        [1, '&show=1'],
        [2, '&show=1'],
        [3, '&show=1'],
      ] as const) {
        const address = `${origin}/api/file?ref=${relPath}&n=${String(n)}${show}`;
        const answer = await context.request.get(address);
        const headers = answer.headers();
        expect(headers['content-type']).toBe(
          show === '' ? 'application/octet-stream' : 'application/json; charset=utf-8',
        );
        expect(headers['x-content-type-options']).toBe('nosniff');
        expect(headers['content-security-policy']).toContain("default-src 'none'");
        if (show === '') {
          expect(headers['content-security-policy']).toContain('sandbox');
          expect(headers['content-disposition']).toMatch(/^attachment; filename="[\w.-]+"$/);
        }
        await page.goto(address).catch(() => undefined);
        expect(await page.title()).not.toBe('ran');
      }
      await page.goto(`${origin}/c/${host.channel()}`);
      await page.getByText('a.html').waitFor();
      expect(await page.locator('article', { hasText: 'a.html' }).locator('img').count()).toBe(0);
      expect(await page.title()).not.toBe('ran');
      await context.close();
    },
  );
});
