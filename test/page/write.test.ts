import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Write, while others write too ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;
  let general: string;
  let other: string;

  beforeAll(async () => {
    host = await new Bus().host('front', { worker: 'cat' });
    general = host.channel();
    other = (await host.run('channel', 'create', 'side room')).out.trim();
    await host.send('nobody', 'the newest so far', '--channel', general);
    await host.run('sync');
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  it('news of another channel changes neither channel nor recipient nor text', async () => {
    const { page, ...window } = await browsing.window(web);
    // The other channel was read when it had no messages.
    await page.evaluate(
      `localStorage.setItem('crosstalk-read-${other}', JSON.stringify({ count: 0, relPath: '' }))`,
    );
    await page.getByRole('link', { name: 'Write' }).first().click();
    const channel = page.getByRole('combobox', { name: 'Channel' });
    const to = page.getByRole('combobox', { name: 'To' });
    const text = page.getByRole('textbox', { name: /^Message/ });
    await soon(() => channel.inputValue()).toBe(general);
    await to.fill('nobody');
    await text.fill('in the middle of');
    const link = page
      .getByRole('navigation', { name: 'Channels' })
      .getByRole('link', { name: /side room/ });
    await host.send('nobody', 'news elsewhere', '--channel', other);
    await host.run('sync');
    await link.getByText('unread').waitFor();
    await text.pressSequentially(' a sentence');
    expect(await channel.inputValue()).toBe(general);
    expect(await to.inputValue()).toBe('nobody');
    expect(await text.inputValue()).toBe('in the middle of a sentence');
    // After leaving and coming back, the channel and the text are still the same.
    await link.click();
    await page.getByRole('feed', { name: 'Messages in side room' }).waitFor();
    await page.goBack();
    await soon(() => text.inputValue()).toBe('in the middle of a sentence');
    expect(await channel.inputValue()).toBe(general);
    // Another tab of the same browser has a draft of its own.
    const second = await window.context.newPage();
    await second.goto(page.url());
    const theirs = second.getByRole('textbox', { name: /^Message/ });
    await theirs.fill('of another tab');
    await page.reload();
    await soon(() => text.inputValue()).toBe('in the middle of a sentence');
    await text.fill('');
    await second.reload();
    await soon(() => theirs.inputValue()).toBe('of another tab');
    await second.close();
    await text.fill('in the middle of a sentence');
    await channel.selectOption(other);
    await soon(() => text.inputValue()).toBe('');
    await window.context.close();
  });
});
