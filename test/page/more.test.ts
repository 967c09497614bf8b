// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/message.ts';
import {
  Browsing,
  hasBrowser,
  PHONE,
  SLOW,
  soon,
  UNLESS,
  type Window,
} from '../support/browser.ts';
import { Bus, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const SCHEMA = '{ "type": "object" }';
const HOSTILE = '<img src=x onerror=alert(1)>\u202e no';

describe.skipIf(!hasBrowser)(`Options and the form of an answer ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;

  beforeAll(async () => {
    host = await new Bus().host('front', { worker: 'cat' });
    web = await Web.open(host);
  }, SLOW.timeout);
  afterAll(() => web.stop());

  /** The parts of the form, wherever it is. */
  const parts = ({ page }: Window) => ({
    to: page.getByRole('combobox', { name: 'To' }),
    text: page.getByRole('textbox', { name: /^Message/ }),
    more: page.locator('summary', { hasText: 'More' }),
    add: page.getByRole('button', { name: 'Add an option' }),
    option: (n: number) => page.getByRole('textbox', { name: `Option ${String(n)}`, exact: true }),
    options: page.getByRole('textbox', { name: /^Option / }),
    schema: page.getByRole('textbox', { name: 'JSON Schema of the answer' }),
    file: page.getByLabel('Read it from a file'),
    send: page.getByRole('button', { name: 'Send', exact: true }),
    refusal: page.getByRole('alert'),
  });
  const sent = (text: string): Promise<Message> =>
    until('the message', () =>
      host.bus.from('operator').find(({ message }) => message.body.trim() === text),
    ).then(({ message }) => message);

  it('are folded until they are wanted, and go out with the message', async () => {
    const window = await browsing.window(web, { viewport: PHONE });
    await window.open(`/write?channel=${host.channel()}`);
    const { to, text, more, add, option, options, schema, send } = parts(window);
    await more.waitFor();
    expect(await add.isVisible()).toBe(false);
    expect(await schema.isVisible()).toBe(false);
    await more.press('Enter');
    await add.press('Enter');
    // The keyboard alone suffices: Enter leads to the next field, and sends nothing.
    await window.page.keyboard.type('ship it');
    await window.page.keyboard.press('Enter');
    await window.page.keyboard.type('wait');
    await window.page.keyboard.press('Enter');
    await window.page.keyboard.type(HOSTILE);
    await window.page.keyboard.press('Enter');
    await soon(() => options.count()).toBe(4);
    await window.page.getByRole('button', { name: 'Remove option 2' }).click();
    await soon(() => options.count()).toBe(3);
    await window.page.locator('.add:focus').waitFor();
    expect(await option(2).inputValue()).toBe(HOSTILE);
    await schema.fill(SCHEMA);
    await soon(() => more.textContent()).toBe('More: 2 options and a JSON Schema');
    expect(
      await window.page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'),
    ).toBe(true);
    await to.fill('carol');
    await text.fill('what now?');
    await send.click();
    const { options: offered, schema: form } = await sent('what now?');
    expect(offered).toEqual(['ship it', HOSTILE]);
    expect(form).toBe('{"type":"object"}');
    await soon(() => more.textContent()).toBe('More');
    expect(await options.count()).toBe(0);
    expect(await schema.inputValue()).toBe('');
    expect(window.errors).toEqual([]);
    await window.close();
  });

  it('are refused in one line that says why, and nothing that was typed is lost', async () => {
    const window = await browsing.window(web);
    await window.open(`/c/${host.channel()}`);
    const { to, text, more, add, option, options, schema, send, refusal } = parts(window);
    await more.click();
    await to.fill('carol');
    await text.fill('once more');
    const refused = async (words: string | RegExp): Promise<void> => {
      await text.press('Control+Enter');
      await refusal.getByText(words).waitFor();
      expect(await refusal.textContent()).not.toContain('--');
    };
    for (const [at, words] of ['yes', 'yes'].entries()) {
      await add.click();
      await option(at + 1).fill(words);
    }
    await refused('Not sent: the options: "yes" is there twice');
    await option(2).fill('n'.repeat(201));
    await refused('expected one line of at most 200 characters');
    await option(2).fill('no');
    for (let n = 3; n <= 21; n++) {
      await add.click();
      await option(n).fill(`choice ${String(n)}`);
    }
    await refused('the options: 21 options; a question has at most 20');
    await window.page.getByRole('button', { name: 'Remove option 21' }).click();
    await schema.fill('{"type":');
    await refused('Not sent: the schema: it is not JSON');
    await schema.fill('{"type":"thing"}');
    await refused('the schema: it is no JSON Schema');
    await schema.fill(JSON.stringify({ description: 'x'.repeat(17_000) }));
    await refused('a message takes 16384');
    // What was typed outlives the page, too.
    await window.page.reload();
    await soon(() => more.textContent()).toBe('More: 20 options and a JSON Schema');
    expect(await option(20).inputValue()).toBe('choice 20');
    expect(await schema.inputValue()).toContain('xxxx');
    expect(await text.inputValue()).toBe('once more');
    await schema.fill(SCHEMA);
    await send.click();
    expect((await sent('once more')).options).toHaveLength(20);
    await soon(() => options.count()).toBe(0);
    await window.close();
  });

  it('a file that is chosen or dropped becomes the schema, and is not attached', async () => {
    const window = await browsing.window(web);
    await window.open(`/write?channel=${host.channel()}`);
    const { to, text, more, schema, file, send } = parts(window);
    const { page } = window;
    await more.click();
    const buffer = Buffer.alloc(300_000, 'x');
    await schema.fill('typed');
    await file.setInputFiles({ name: 'large.json', mimeType: 'application/json', buffer });
    await page.getByText('Not read: large.json has 293.0 KiB, too much for a schema.').waitFor();
    expect(await schema.inputValue()).toBe('typed');
    const chosen = { name: 'a.json', mimeType: 'application/json', buffer: Buffer.from('{}') };
    await file.setInputFiles(chosen);
    await soon(() => schema.inputValue()).toBe('{}');
    await page.getByText('Read from a.json.').waitFor();
    const dropped = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([${JSON.stringify(SCHEMA)}], 'b.json'));
      return transfer;
    })()`);
    await schema.dispatchEvent('drop', { dataTransfer: dropped });
    await soon(() => schema.inputValue()).toBe(SCHEMA);
    expect(await page.getByRole('list', { name: 'Files to send' }).count()).toBe(0);
    await to.fill('carol');
    await text.fill('from a file');
    await send.click();
    const { schema: form, files } = await sent('from a file');
    expect([form, files]).toEqual(['{"type":"object"}', undefined]);
    await window.close();
  });
});
