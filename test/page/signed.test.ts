// @module-tag long
import { describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, UNLESS } from '../support/browser.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { hasSshKeygen, Key, pins, signs } from '../support/keys.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser || !hasSshKeygen)(`Signed messages ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();

  it('have a mark with words for assistive technology, and others of the name a warning', async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    const key = new Key(host, 'anna');
    await signs(host, key);
    await pins(host, 'anna', key);
    await host.send('worker', 'a good one');
    git(host.dir, 'config', '--unset', 'crosstalk.signingKey');
    const bad = await host.send('worker', 'a bad one');
    await host.send('worker', 'another one', '--from', 'carl');
    const web = await Web.open(host);
    const { page } = await browsing.window(web);
    await page.goto(new URL(`/m/${host.channel()}/${bad}`, web.url).href);
    const heading = (text: string): Promise<string> =>
      page.locator('article', { hasText: text }).getByRole('heading').innerText();
    await page.getByText('another one').waitFor();
    expect(await heading('a good one')).toMatch(/anna\s+\(you\)\s*verified\s+to\s+worker/);
    expect(await heading('a bad one')).toMatch(/anna\s+\(you\)\s*unverified\s+to\s+worker/);
    expect(await heading('another one')).not.toContain('verified');
    await page.goto(new URL(`/t/${host.channel()}/${bad}`, web.url).href);
    await page.getByText('unverified').waitFor();
    await web.stop();
  });
});
