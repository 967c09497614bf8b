import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Bus, Running, type Host } from '../support/bus.ts';
import {
  Browsing,
  hasBrowser,
  PHONE,
  SLOW,
  soon,
  UNLESS,
  type Window,
} from '../support/browser.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const ANSWER = ['**Done**, see:', '', '| what | how many |', '| --- | ---: |', '| tests | 12 |'];

// Two machines: the concierge of one delegates to the worker of the other; the painter fails once.
describe.skipIf(!hasBrowser)(`the page of a bus of two hosts ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  const running: Running[] = [];
  let front: Host;
  let back: Host;
  let web: Web;
  let channel: string;
  let other: string;
  /** A question that was delegated and is answered. */
  let question: string;
  let answer: string;

  beforeAll(async () => {
    const bus = new Bus();
    const script = (name: string, lines: readonly string[]): string => {
      const path = join(bus.root, name);
      writeFileSync(path, `#!/bin/sh\n${lines.join('\n')}\n`);
      chmodSync(path, 0o755);
      return path;
    };
    front = await bus.host('front', {
      concierge: script('concierge', [
        'prompt=$(cat)',
        'case $prompt in',
        '  *"(you) to worker"*) echo "The worker says: done." ;;',
        '  *) crosstalk send --to worker "your part" >&2 ;;',
        'esac',
      ]),
      painter: {
        default: {
          cli: script('painter', [
            'cat > /dev/null',
            `test -e ${join(bus.root, 'paint')} && { echo painted; exit 0; }`,
            'echo "no paint is left" >&2; exit 4',
          ]),
          attempts: 1,
        },
      },
      sleeper: 'cat > /dev/null; exec sleep 600',
    });
    back = await bus.host('back', {
      worker: {
        quick: script('worker', ['cat > /dev/null', "cat <<'END'", ...ANSWER, 'END']),
        large: script('large', ['cat > /dev/null; echo "in depth"']),
      },
    });
    running.push(new Running(front, ['--grace', '0']), new Running(back, []));
    channel = front.channel();
    other = (await front.run('channel', 'create', 'side room')).out.trim();
    web = await Web.open(front);
    question = await front.send('concierge', 'is **everything** done?', '--channel', channel);
    answer = await until(
      'the answer',
      () => bus.messages().find(({ message }) => message.re.includes(question))?.relPath,
    );
  }, SLOW.timeout);
  afterAll(async () => {
    await web.stop();
    for (const one of running) await one.stop();
  });

  /** A window for one test, which must cause no errors and no requests to other servers. */
  async function visit(
    path: string,
    look: (window: Window) => Promise<void>,
    options: Parameters<Browsing['window']>[1] = {},
  ): Promise<void> {
    const window = await browsing.window(web, options);
    try {
      await window.open(path);
      await look(window);
      expect(window.errors).toEqual([]);
      expect(window.abroad).toEqual([]);
    } finally {
      await window.close();
    }
  }

  it('Now tells hosts, actors and what each is doing, and what waits for how long', () =>
    visit('/now', async ({ page }) => {
      const relPath = await front.send('sleeper', 'think about it', '--channel', channel);
      const card = (name: string) => page.getByRole('region', { name, exact: true });
      await card('Hosts').getByText('this machine').waitFor();
      await card('Hosts')
        .getByText(/^heartbeat \d+ s ago$/)
        .waitFor();
      await card('Hosts').getByText('serves worker').waitFor();
      await card('Actors').getByText('sleeper is at work').first().waitFor();
      await card('Waiting mail').getByText('think about it').first().click();
      await page.waitForURL(`**/t/${channel}/${relPath}`);
      await page.getByText('sleeper is at work').waitFor();
    }));

  it('a dead letter is shown with its reason, and retried from Now', () =>
    visit('/now', async ({ page }) => {
      await front.send('painter', 'paint the fence', '--channel', channel);
      const letters = page.getByRole('region', {
        name: 'Dead letters and parked mail',
        exact: true,
      });
      await letters.getByText('no paint is left').waitFor();
      await letters.getByText('quarantined').waitFor();
      await page.locator('.verdict.bad', { hasText: 'quarantined deliveries: 1' }).waitFor();
      writeFileSync(join(front.bus.root, 'paint'), 'some');
      await letters.getByRole('button', { name: /^Retry / }).click();
      await letters.getByText('1 released').waitFor();
      await letters.getByText('None: every delivery worked out.').waitFor();
      await page.locator('.verdict.good', { hasText: 'Nothing is stuck.' }).waitFor();
    }));

  it('a conversation has its messages as markdown, and what they answer leads to it', () =>
    visit(`/m/${channel}/${answer}`, async ({ page }) => {
      const feed = page.getByRole('feed', { name: 'Messages in general' });
      await feed.getByRole('cell', { name: '12' }).first().waitFor();
      const current = feed.locator('article[aria-current=true]', { hasText: 'The worker says' });
      await current.getByRole('link', { name: /answers operator: is everything done/ }).click();
      await page.waitForURL(`**/m/${channel}/${question}`);
      await feed.locator('article[aria-current=true] strong', { hasText: 'everything' }).waitFor();
      await page.getByRole('link', { name: 'side room' }).click();
      await page.getByLabel('Messages in side room').waitFor();
    }));

  it('every message has an address that leads to it, and to its thread as a tree', () =>
    visit(`/m/${channel}/${question}`, async ({ page }) => {
      const asked = page.locator('article[aria-current=true]');
      await asked.getByText('concierge answered').waitFor();
      await asked.getByRole('link', { name: 'Thread of this message' }).click();
      await page.waitForURL(`**/t/${channel}/${question}`);
      const tree = page.getByRole('group', { name: 'The messages of the thread' });
      await tree.getByText(/^✓ concierge answered after/).waitFor();
      const below = tree.locator('ul ul > li');
      await below.getByText('your part').waitFor();
      await below.getByText(/worker answered after/).waitFor();
      await page.goBack();
      await asked.waitFor();
    }));

  it('a message is written with completed recipients, a tier and a preview, and is followed', () =>
    visit(`/write?channel=${channel}`, async ({ page }) => {
      const to = page.getByRole('combobox', { name: 'To' });
      await to.fill('wor');
      await page.getByRole('option', { name: 'worker' }).waitFor();
      await to.press('Enter');
      await soon(() => to.inputValue()).toBe('worker, ');
      await page.getByRole('combobox', { name: 'Tier' }).selectOption('large');
      const text = page.getByRole('textbox', { name: 'Message (markdown)' });
      await text.fill('look **closely**');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByRole('group', { name: 'Preview' }).locator('strong').waitFor();
      await page.getByRole('button', { name: 'Preview' }).click();
      await text.press('Control+Enter');
      const sent = page.getByRole('region', { name: 'Just sent' });
      await sent.getByText('worker answered').waitFor();
      await soon(() => text.inputValue()).toBe('');
      await sent.getByRole('link', { name: /look closely/ }).click();
      await page.getByText('in depth').waitFor();
    }));

  it('what is sent in a conversation appears in it at once and is answered there', () =>
    visit(`/c/${channel}`, async ({ page }) => {
      await page.getByRole('combobox', { name: 'To' }).fill('concierge');
      await page.getByRole('textbox', { name: /^Message/ }).fill('and this one?');
      await page.getByRole('button', { name: 'Send' }).click();
      const mine = page.locator('article', { hasText: 'and this one?' }).first();
      await mine.waitFor();
      await mine.getByText('concierge answered').waitFor();
    }));

  it('a send that fails keeps what was typed, and so does leaving the page', () =>
    visit(`/write?channel=${other}`, async ({ page, origin }) => {
      const text = page.getByRole('textbox', { name: 'Message (markdown)' });
      const to = page.getByRole('combobox', { name: 'To' });
      await to.fill('worker');
      await text.fill('a long thought');
      await page.route('**/api/send', (route) => route.abort());
      await page.getByRole('button', { name: 'Send' }).click();
      await page
        .getByRole('alert')
        .getByText(/Your text is still here/)
        .waitFor();
      await soon(() => text.inputValue()).toBe('a long thought');
      await page.goto(`${origin}/`);
      await page.goto(`${origin}/c/${other}`);
      await soon(() => page.getByRole('textbox').inputValue()).toBe('a long thought');
      await page.unroute('**/api/send');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator('article', { hasText: 'a long thought' }).waitFor();
      await soon(() => page.getByRole('textbox').inputValue()).toBe('');
    }));

  it('a message without recipients, or for a name that cannot be one, is not sent', () =>
    visit(`/write?channel=${other}`, async ({ page }) => {
      await page.getByRole('textbox', { name: 'Message (markdown)' }).fill('to nobody');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Say who the message is for.').first().waitFor();
      await page.getByRole('combobox', { name: 'To' }).fill('<b>');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('“<b>” is not a recipient').first().waitFor();
    }));

  it('words are searched as they are typed', () =>
    visit('/search', async ({ page }) => {
      const field = page.getByRole('searchbox');
      await field.pressSequentially('everyth');
      await page.locator('mark', { hasText: 'everyth' }).first().waitFor();
      await page.getByText(/^Found \d+\.$/).waitFor();
      await field.fill('zzzzzz');
      await page.getByText('Nothing found.').waitFor();
    }));

  it('Flow has a lane for each, a bar for each run and arrows that tell their message', () =>
    visit('/flow', async ({ page }) => {
      const lanes = page.getByRole('list', { name: 'Lanes' });
      for (const name of ['concierge', 'worker', 'operator'])
        await lanes.getByText(name, { exact: true }).waitFor();
      const bars = page.locator('.bar.answered');
      await bars.first().waitFor();
      const arrow = page.getByRole('link', {
        name: /^operator wrote to concierge .*everything done/,
      });
      await arrow.first().focus();
      await page.locator('.tip', { hasText: 'is everything done?' }).waitFor();
      await page.getByRole('button', { name: 'Zoom in' }).click();
      await soon(() => page.getByRole('button', { name: '6 h' }).getAttribute('aria-pressed')).toBe(
        'false',
      );
      await page.keyboard.press('-');
      await soon(() => page.getByRole('button', { name: '6 h' }).getAttribute('aria-pressed')).toBe(
        'true',
      );
      await page.getByText('In numbers').first().click();
      await page.getByRole('columnheader', { name: 'median' }).waitFor();
    }));

  it('everything can be reached by keys, and the keys are explained', () =>
    visit('/', async ({ page }) => {
      await page.getByRole('heading', { name: 'Inbox' }).waitFor();
      await page.keyboard.press('?');
      await page
        .getByRole('dialog', { name: 'Keys' })
        .getByText('search', { exact: true })
        .waitFor();
      await page.keyboard.press('Escape');
      await soon(() => page.getByRole('dialog').count()).toBe(0);
      await page.keyboard.press('g');
      await page.keyboard.press('f');
      await page.getByRole('heading', { name: 'Flow' }).waitFor();
      await soon(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
      await page.keyboard.press('/');
      await page.getByRole('searchbox').fill('everything');
      await page.locator('.hits a').first().waitFor();
      await page.getByRole('searchbox').press('Tab');
      await page.getByRole('combobox').press('Tab');
      await soon(() => page.evaluate('document.activeElement.closest(".hits") !== null')).toBe(
        true,
      );
      await page.keyboard.press('Enter');
      await page.locator('article[aria-current=true]').waitFor();
      await page.keyboard.press('k');
      await soon(() => page.evaluate('document.activeElement.tagName')).toBe('ARTICLE');
      await page.keyboard.press('o');
      await page.waitForURL('**/t/**');
    }));

  it('what arrives elsewhere is marked unread until it was seen', () =>
    visit(`/c/${other}`, async ({ page, origin }) => {
      await page.getByLabel('Messages in side room').waitFor();
      await page.getByText(/^\d+ messages?$/).waitFor();
      await page.goto(`${origin}/`);
      const link = page
        .getByRole('navigation', { name: 'Channels' })
        .getByRole('link', { name: /side room/ });
      await link.waitFor();
      await front.send('nobody', 'did you see this?', '--channel', other);
      await link.getByText('unread').waitFor();
      await link.click();
      await page.locator('article', { hasText: 'did you see this?' }).last().waitFor();
      await soon(() => link.getByText('unread').count()).toBe(0);
    }));

  it('a lost connection is said and comes back by itself, with what was missed', async () => {
    const own = await Web.open(front, '--token', 'a-token-that-stays-the-same');
    const window = await browsing.window(own);
    let again: Web | undefined;
    try {
      const { page } = window;
      await window.open(`/c/${other}`);
      await page.getByText(/^\d+ messages?$/).waitFor();
      await own.stop();
      await page.getByText('The connection to the server is lost').waitFor();
      await front.send('nobody', 'said meanwhile', '--channel', other);
      again = await Web.open(front, '--token', own.token, '--port', String(own.port));
      await page.locator('article', { hasText: 'said meanwhile' }).waitFor();
      await soon(() => page.getByText('The connection to the server is lost').count()).toBe(0);
    } finally {
      await window.close();
      await own.stop();
      await again?.stop();
    }
  });

  it('a read-only page shows everything and offers no writing', async () => {
    const own = await Web.open(front, '--read-only');
    const window = await browsing.window(own);
    try {
      const { page } = window;
      await page.getByText('read-only').waitFor();
      expect(await page.getByRole('link', { name: 'Write' }).count()).toBe(0);
      await window.open(`/m/${channel}/${question}`);
      await page.locator('article[aria-current=true]').waitFor();
      expect(await page.getByRole('textbox').count()).toBe(0);
      await window.open('/write');
      await page.getByText('This window is read-only').waitFor();
    } finally {
      await window.close();
      await own.stop();
    }
  });

  it('on a phone every view is as wide as the screen, and all are within reach', () =>
    visit(
      '/',
      async ({ page, origin }) => {
        const tabs = page.getByRole('navigation', { name: 'Parts' });
        for (const name of ['Talk', 'Flow', 'Search', 'Write', 'Now', 'Inbox']) {
          await tabs.getByRole('link', { name }).click();
          await page.locator('h1').waitFor();
          await soon(() => page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
        }
        for (const view of ['c', 'm', 't']) {
          const relPath = view === 'c' ? '' : `/${question}`;
          await page.goto(`${origin}/${view}/${channel}${relPath}`);
          // A conversation begins at its end, which the other tests have moved on.
          const shown =
            view === 'c' ? page.locator('article') : page.getByText('is everything done?');
          await shown.locator('visible=true').first().waitFor();
          await soon(() => page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
        }
      },
      { viewport: PHONE, hasTouch: true },
    ));
});
