import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Browsing, hasBrowser, SLOW, UNLESS } from '../support/browser.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const HOSTILE = '</button><img src=x onerror=alert(1)>\u202e no';

describe.skipIf(!hasBrowser)(`Replying on the page ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;

  beforeAll(async () => {
    host = await new Bus().host('front', { worker: 'echo done' });
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  /** A message by Carol; returns its path. */
  async function ask(...argv: string[]): Promise<string> {
    const { out, err } = await host.runWith(
      { login: 'carol' },
      'send',
      '--to',
      'operator',
      ...argv,
    );
    const path = /^Sent: (.+)$/m.exec(out)?.[1];
    if (path === undefined) throw new Error(err);
    return path;
  }
  const replyTo = (path: string): Promise<string> =>
    until('the reply', () =>
      host.bus.from('operator').find(({ message }) => message.re.includes(path)),
    ).then(({ message }) => message.body.trim());

  it('what asks is first on the page, and a button with one of its answers answers it', async () => {
    const window = await browsing.window(web);
    const { page } = window;
    await window.open('/');
    await page.getByText('Nothing waits for you.').waitFor();

    const path = await ask('--option', 'ship it', '--option', HOSTILE, 'what now?');
    const card = page.getByRole('list', { name: 'What waits for you' });
    await card.getByText('what now?').waitFor();
    await card.getByText('asks you').waitFor();
    const evil = card.getByRole('button', { name: '2) </button><img src=x onerror=alert(1)>' });
    expect(await evil.textContent()).toContain('\\u202e no');
    await card.getByRole('button', { name: '1) ship it' }).click();
    expect(await replyTo(path)).toBe('ship it');
    // The row stays in its place until one leaves.
    await card.getByText('done').waitFor();
    await window.open('/');
    await page.getByText('Nothing waits for you.').waitFor();
    expect(window.errors).toEqual([]);
    await window.close();
  });

  it('a second answer to one question is asked about first', async () => {
    const path = await ask('--option', 'left', '--option', 'right', 'which way?');
    const window = await browsing.window(web);
    const { page } = window;
    const answers = (): string[] =>
      host.bus
        .from('operator')
        .filter(({ message }) => message.re.includes(path))
        .map(({ message }) => message.body.trim());
    await window.open(`/m/${host.channel()}/${path}`);
    const item = page.getByRole('article').filter({ hasText: 'which way?' });
    await item.getByRole('button', { name: '1) left' }).click();
    expect(await replyTo(path)).toBe('left');
    await item.getByText('Sent.').waitFor();
    await item.getByRole('button', { name: '2) right' }).click();
    await item.getByText('You have answered this already.').waitFor();
    await item.getByRole('button', { name: 'Leave it' }).click();
    expect(answers()).toEqual(['left']);

    // The same in the thread, which was opened later.
    await window.open(`/t/${host.channel()}/${path}`);
    await page.getByRole('button', { name: 'Reply to carol' }).first().click();
    const form = page.getByRole('form', { name: 'Reply to carol' });
    await form.getByRole('textbox').fill('straight on');
    await form.getByRole('button', { name: 'Send reply' }).click();
    await page.getByRole('button', { name: 'Answer once more' }).click();
    await until('the second answer', () => answers().length === 2);
    expect(answers()).toContain('straight on');
    expect(window.errors).toEqual([]);
    await window.close();
  });

  it(
    'a text is written below the message it answers, in the conversation and in the thread',
    { tags: 'long' },
    async () => {
      const path = await ask('and a text?');
      const second = await ask('and here?');
      const window = await browsing.window(web);
      const { page } = window;
      await window.open(`/m/${host.channel()}/${path}`);
      const item = page.getByRole('article').filter({ hasText: 'and a text?' });
      await item.getByRole('button', { name: 'Reply to carol' }).click();
      const form = page.getByRole('form', { name: 'Reply to carol' });
      await form.getByRole('button', { name: 'Send reply' }).click();
      await page.getByText('Write something first.').waitFor();
      await form.getByRole('textbox').fill('from the conversation');
      await form.getByRole('button', { name: 'Send reply' }).click();
      expect(await replyTo(path)).toBe('from the conversation');

      await window.open(`/t/${host.channel()}/${second}`);
      await page.getByRole('button', { name: 'Reply to carol' }).first().click();
      await form.getByRole('textbox').fill('from the thread');
      await form.getByRole('textbox').press('Control+Enter');
      expect(await replyTo(second)).toBe('from the thread');
      // What one wrote oneself has no such button.
      expect(await page.getByRole('button', { name: 'Reply to operator' }).count()).toBe(0);
      expect(window.errors).toEqual([]);
      await window.close();
    },
  );
});
