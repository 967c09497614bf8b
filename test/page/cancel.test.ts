import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Bus, Running, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Cancelling on the page ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;
  let running: Running;

  beforeAll(async () => {
    host = await new Bus().host('front', { sleeper: 'cat > /dev/null; exec sleep 600' });
    running = new Running(host, ['--grace', '0']);
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(async () => {
    await web.stop();
    await running.stop();
  });

  it('what runs for a message of one’s own is ended by a button, and for others there is none', async () => {
    const question = await host.send('sleeper', 'think about it');
    await running.saw('dispatch_start');
    const window = await browsing.window(web);
    const { page } = window;
    await window.open(`/m/${host.channel()}/${question}`);
    const item = page.locator('article[aria-current=true]');
    await item.getByRole('button', { name: 'Cancel' }).click();
    await until('the notice', () => host.bus.from('sleeper').length === 1);
    await page.getByText('it was cancelled').first().waitFor();
    await soon(() => page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
    await item.locator('[data-state=cancelled]').waitFor();
    expect(await item.locator('.states').innerText()).not.toMatch(/failed|dead letter|answered/);
    // Also for a page that was not there when it happened.
    await page.reload();
    await item.locator('[data-state=cancelled]').waitFor();
    expect(await item.locator('.states').innerText()).not.toMatch(/failed|dead letter|answered/);

    const other = await host.send('nobody', 'of somebody else', '--from', 'zoe');
    await window.open(`/m/${host.channel()}/${other}`);
    const theirs = page.getByRole('article').filter({ hasText: 'of somebody else' });
    await theirs.waitFor();
    expect(await theirs.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
    expect(window.errors).toEqual([]);
    await window.close();
  });
});
