// @module-tag long
import { expect, it, describe } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { TOKEN } from '../support/web.ts';

/** Longer than the page waits for the server, in one step of its clock. */
const LONG_MS = 90_000;

/** The server as a process of its own, which can be stopped as a whole. */
async function served(
  host: Host,
  ...options: string[]
): Promise<{ url: string; port: string; program: Program }> {
  const program = new Program(host, 'web', '--json', ...options);
  await until('the address', () => program.out.includes('\n'));
  const { url, port } = JSON.parse(program.out) as { url: string; port: number };
  return { url, port: String(port), program };
}

const bodiesOf = (bus: Bus): string[] => bus.messages().map(({ message }) => message.body);

describe.skipIf(!hasBrowser)(`the page without its server ${UNLESS}`, () => {
  const browsing = new Browsing();

  it(
    'a server that stands still is noticed; what is sent meanwhile is kept, and sent once when it goes on',
    SLOW,
    async () => {
      const bus = new Bus();
      const host = await bus.host('front', {});
      const { url, program } = await served(host, '--port', '0');
      const window = await browsing.window({ url });
      const { page } = window;
      await page.clock.install();
      await window.open(`/c/${host.channel()}`);
      await page.getByText(/^\d+ messages?$/).waitFor();
      const line = page.locator('.live');
      await soon(() => line.innerText()).toBe('');
      // Room for writing is shown once the server has told everything that it needs.
      await page.getByRole('combobox', { name: 'To' }).fill('nobody');

      program.child.kill('SIGSTOP');
      const text = page.getByRole('textbox', { name: /^Message/ });
      await text.fill('said into the silence');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Sending…').waitFor();
      await page.clock.fastForward(LONG_MS);
      await line.getByText('The server does not answer').waitFor();
      await page.getByRole('alert').getByText('it is not sent twice').waitFor();
      expect(await text.inputValue()).toBe('said into the silence');
      // The request of the first attempt waits in the server's socket, and further ones behind it.
      await page.clock.fastForward(LONG_MS);
      await page.clock.fastForward(LONG_MS);

      program.child.kill('SIGCONT');
      await soon(async () => {
        await page.clock.fastForward(1000);
        return line.innerText();
      }).toBe('');
      await soon(async () => {
        await page.clock.fastForward(1000);
        return text.inputValue();
      }).toBe('');
      expect(await page.getByRole('alert').count()).toBe(0);
      await page.locator('article', { hasText: 'said into the silence' }).waitFor();
      await until('it on the remote', () => bodiesOf(bus).length > 0);
      await host.run('sync');
      expect(bodiesOf(bus)).toEqual(['said into the silence']);
      expect(await page.locator('article', { hasText: 'said into the silence' }).count()).toBe(1);
      // It was sent, so the same text again is another message.
      await text.fill('said into the silence');
      await page.getByRole('button', { name: 'Send' }).click();
      await until('both on the remote', () => bodiesOf(bus).length === 2);
      expect(window.errors).toEqual([]);
      await window.close();
    },
  );

  it(
    'a send whose fate is unknown is not repeated by another window of the same browser, nor by a server that was killed',
    SLOW,
    async () => {
      const bus = new Bus();
      const host = await bus.host('front', {});
      const first = await served(host, '--port', '0', '--token', TOKEN);
      const window = await browsing.window(first);
      const { page } = window;
      await window.open(`/c/${host.channel()}`);
      await page.getByText(/^\d+ messages?$/).waitFor();
      // The request arrives, and its answer is lost.
      await page.route('**/api/send', async (route) => {
        await route.fetch().catch(() => undefined);
        await route.abort().catch(() => undefined);
      });
      await page.getByRole('combobox', { name: 'To' }).fill('nobody');
      await page.getByRole('textbox', { name: /^Message/ }).fill('only once');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('alert').getByText('Not known whether it was sent').waitFor();
      await until('it on the remote', () => bodiesOf(bus).length > 0);
      expect(await first.program.stop('SIGKILL')).toBe('SIGKILL');
      await page.getByText('The connection to the server is lost').waitFor();
      await page.close();

      await served(host, '--port', first.port, '--token', TOKEN);
      const other = await window.context.newPage();
      await other.goto(`${window.origin}/c/${host.channel()}`);
      const kept = other.getByRole('textbox', { name: /^Message/ });
      await soon(() => kept.inputValue()).toBe('only once');
      await other.getByRole('button', { name: 'Send' }).click();
      await soon(() => kept.inputValue()).toBe('');
      await other.locator('article', { hasText: 'only once' }).waitFor();
      expect(await other.locator('article', { hasText: 'only once' }).count()).toBe(1);
      await host.run('sync');
      expect(bodiesOf(bus)).toEqual(['only once']);
      await window.close();
    },
  );

  it('a server that was started again with another token asks for its new address, and the draft is there', async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const first = await served(host, '--port', '0');
    const window = await browsing.window(first);
    const { page } = window;
    await window.open(`/c/${host.channel()}`);
    await page.getByRole('textbox', { name: /^Message/ }).fill('half a thought');
    expect(await first.program.stop('SIGTERM')).not.toBe('SIGKILL');
    await page.getByText('The connection to the server is lost').waitFor();

    const second = await served(host, '--port', first.port);
    await page
      .getByText('Open the new address that crosstalk web printed; what you typed is kept')
      .waitFor();
    // Nothing beside it says something else.
    await page
      .getByRole('navigation', { name: 'Parts' })
      .getByRole('link', { name: 'Flow' })
      .click();
    await page.getByRole('heading', { name: 'Flow' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    const other = await window.context.newPage();
    await other.goto(second.url);
    await other.waitForURL(`${window.origin}/`);
    await soon(() => page.locator('.live').innerText()).toBe('');
    await other.goto(`${window.origin}/c/${host.channel()}`);
    await soon(() => other.getByRole('textbox', { name: /^Message/ }).inputValue()).toBe(
      'half a thought',
    );
    expect(window.errors).toEqual([]);
    await window.close();
  });
});
