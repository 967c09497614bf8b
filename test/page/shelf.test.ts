import { describe, expect, it } from 'vitest';
import type { WebNotes } from '../../src/api/api.ts';
import { memoryFileAt } from '../../src/protocol/files/memory.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Web } from '../support/web.ts';

const RTL = '\u202egnirts\u202c';
/** What somebody who can push may write in order to be taken for a part of the page. */
const HOSTILE = [
  '<script>document.title = "taken"</script>',
  '<img src=x onerror="document.title = \'taken\'">',
  '[press me](javascript:document.title="taken")',
  '![x](https://evil.example/pixel.png)',
  `\u001b[31mred\u001b[0m ${RTL}`,
  '</main></body><h1>Nothing is stuck.</h1>',
  'x'.repeat(20_000),
].join('\n\n');

const skill = (name: string, description: string, body: string): string =>
  `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n${body}\n`;

function note(n: number, subject: string, body: string): [string, string] {
  const at = new Date(Date.UTC(2026, 0, 1) + n * 60_000);
  return [
    `data/memories/${memoryFileAt(at, n.toString(16).padStart(12, '0'))}`,
    `---\nfrom: anna\ntimestamp: ${at.toISOString()}\nsubject: ${JSON.stringify(subject)}\n---\n${body}\n`,
  ];
}

async function pushed(host: Host, files: Record<string, string>): Promise<void> {
  host.edit(files);
  await host.news();
}

const isTooWide = 'document.documentElement.scrollWidth > innerWidth';

describe.skipIf(!hasBrowser)(`skills and notes on the page ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();

  it(
    'skills are listed with where they come from and who takes them, and each has an address',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', { worker: 'true', other: 'true' });
      const web = await Web.open(host);
      const window = await browsing.window(web);
      const { page } = window;
      try {
        // By the keyboard, as every part of the page.
        await page.getByRole('heading', { name: 'Inbox', exact: true }).waitFor();
        await page.keyboard.press('g');
        await page.keyboard.press('s');
        await page.waitForURL('**/skills');
        await page.getByRole('link', { name: '/review' }).waitFor();
        await pushed(host, {
          'local/skills/review/SKILL.md': skill('review', 'Our own', '# How\n\nLook **twice**.'),
          'local/skills/review/list.md': 'x',
          'local/skills/review/.envrc': 'x',
          'local/skills/odd/SKILL.md': 'no header',
          'local/actors/other.md': '---\nname: other\ndescription: x\nskills: []\n---\nYou.\n',
        });
        // What is pushed appears without loading the page again.
        const rows = page.locator('.hits > li');
        const row = rows.filter({ has: page.getByRole('link', { name: '/review', exact: true }) });
        await row.getByText('instead of the one that comes with Crosstalk').waitFor();
        expect(await row.innerText()).toMatch(/only for .*worker/);
        expect(await row.innerText()).not.toContain('other');
        expect(await rows.filter({ hasText: '/odd' }).innerText()).toMatch(/cannot be read: .*---/);
        await row.getByRole('link').click();
        await page.waitForURL('**/skills/review');
        expect(await page.title()).toMatch(/^\/review – /);
        await page.locator('.md strong').waitFor();
        expect(await page.locator('.md strong').innerText()).toBe('twice');
        await page.getByText('local/skills/review/SKILL.md').waitFor();
        await page.getByText('list.md', { exact: true }).waitFor();
        await page.getByText(/^"\.envrc", because an agent CLI/).waitFor();
        await window.open('/skills/none');
        await page.getByRole('alert').getByText('no skill "none"').waitFor();
        expect(window.errors).toEqual([]);
      } finally {
        await window.close();
        await web.stop();
      }
    },
  );

  it('a hostile skill and a hostile note are text and nothing else', async () => {
    const host = await new Bus().host('front', { worker: 'true' });
    await pushed(host, {
      'local/skills/hostile/SKILL.md': skill('hostile', `<b>bold</b> ${RTL}`, HOSTILE),
      ...Object.fromEntries([note(1, `<b>bold</b> ${RTL}`, HOSTILE)]),
    });
    const web = await Web.open(host);
    const { memories } = await web.get<WebNotes>('/api/memories');
    const window = await browsing.window(web, { viewport: PHONE });
    const { page } = window;
    try {
      for (const path of [
        '/skills',
        '/skills/hostile',
        '/notes',
        '/notes?q=gnirts',
        `/notes/${memories[0]?.file ?? ''}`,
        '/changes',
      ]) {
        await window.open(path);
        await page.getByText('<b>bold</b>').first().waitFor();
        expect(await page.evaluate(isTooWide), path).toBe(false);
        const made = await page.evaluate<string[]>(
          `[...document.querySelectorAll('main b, main script, main img, main a[href^="javascript"], main h1')].map(({ outerHTML }) => outerHTML.slice(0, 80))`,
        );
        expect(
          made.filter((html) => !html.startsWith('<h1 tabindex="-1">')),
          path,
        ).toEqual([]);
        expect(await page.locator('h1').count(), path).toBe(1);
        expect(await page.title()).not.toContain('taken');
      }
      // What cannot be seen in it is shown where somebody asks for it.
      await window.open('/skills/hostile');
      await page.getByText('As an actor is told it').click();
      const source = await page
        .getByRole('group', { name: 'Text as an actor is told it' })
        .innerText();
      expect(source).toContain('\\u001b[31mred\\u001b[0m \\u202egnirts\\u202c');
      expect(await page.locator('p', { hasText: '<b>bold</b>' }).innerText()).toBe(
        '<b>bold</b> \\u202egnirts\\u202c',
      );
      expect(window.errors).toEqual([]);
      expect(window.abroad).toEqual([]);
    } finally {
      await window.close();
      await web.stop();
    }
  });

  it(
    'notes are found by words, state, kind and scope, with what was done with each',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', { worker: 'true' });
      const add = async (...argv: string[]): Promise<string> => {
        const ran = await host.run('memory', 'add', ...argv);
        expect(ran.code, ran.err).toBe(0);
        return /Remembered: (\S+)/.exec(ran.out)?.[1] ?? '';
      };
      const web = await Web.open(host);
      const window = await browsing.window(web);
      const { page } = window;
      try {
        await window.open('/notes');
        await page.getByText('Nobody has written a note yet.').waitFor();
        expect(await page.getByRole('searchbox').count()).toBe(0);
        const day = ['--name', 'release-day', '--kind', 'decision'];
        const first = await add(
          '--subject',
          'Releases on Tuesdays',
          ...day,
          'Never on a **Friday**.',
        );
        await add('--subject', 'Releases on Thursdays', ...day, '--from', 'ben', 'We moved.');
        await add('--subject', 'Short answers', '--scope', 'actor:worker', 'Five lines.');
        const coffee = await add('--subject', 'No coffee', 'Since Monday.');
        await host.run('memory', 'forget', coffee, 'it was repaired', '--from', 'carla');

        const links = page.locator('.hits > li a');
        const subjects = (): Promise<string[]> => links.allInnerTexts();
        await soon(subjects).toEqual(['Short answers', 'Releases on Thursdays']);
        await page.getByText('2 shown (2 in force, 1 replaced, 1 forgotten)').waitFor();
        await page.getByLabel('For').selectOption({ label: 'for worker alone' });
        await soon(subjects).toEqual(['Short answers']);
        await page.getByLabel('For').selectOption({ label: 'anybody' });
        await page.getByLabel('Kind').selectOption('decision');
        await soon(subjects).toEqual(['Releases on Thursdays']);
        await page.getByLabel('State').selectOption({ label: 'replaced' });
        await soon(subjects).toEqual(['Releases on Tuesdays']);
        // The address leads to the same.
        await page.waitForURL('**/notes?kind=decision&state=replaced');
        await page.reload();
        await soon(subjects).toEqual(['Releases on Tuesdays']);
        await page.getByLabel('State').selectOption({ label: 'all of them' });
        await page.getByLabel('Kind').selectOption({ label: 'every kind' });
        await page.getByRole('searchbox').fill('frid');
        // The list shows this one alone before the search, too.
        await soon(() => page.locator('mark').allInnerTexts()).toEqual(['Frid']);
        expect(await subjects()).toEqual(['Releases on Tuesdays']);

        await links.first().click();
        await page.waitForURL(`**/notes/${first}`);
        await page.getByRole('heading', { name: 'Releases on Tuesdays' }).waitFor();
        expect(await page.locator('.md strong').innerText()).toBe('Friday');
        await page.getByText('replaced', { exact: true }).waitFor();
        const changes = page.locator('.changes > li');
        await soon(() => changes.allInnerTexts()).toEqual([
          expect.stringMatching(/ben wrote anew Releases on Thursdays$/),
          expect.stringMatching(/wrote Releases on Tuesdays, this one$/),
        ]);
        await changes.getByRole('link', { name: 'Releases on Thursdays' }).click();
        await page.getByRole('heading', { name: 'Releases on Thursdays' }).waitFor();
        await page.goBack();
        await page.goBack();
        await soon(() => page.getByRole('searchbox').inputValue()).toBe('frid');
        await page.getByRole('link', { name: 'Who changed the notes' }).click();
        await soon(() => changes.first().innerText()).toMatch(
          /carla took out of force Forgotten: No coffee$/,
        );
        expect(await changes.count()).toBe(5);
        expect(window.errors).toEqual([]);
      } finally {
        await window.close();
        await web.stop();
      }
    },
  );

  it(
    'ten thousand notes are shown by pages, of which an address has the place',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', {});
      await pushed(
        host,
        Object.fromEntries(
          Array.from({ length: 10_000 }, (_, n) => note(n, `note ${String(n)}`, 'x')),
        ),
      );
      const web = await Web.open(host);
      const window = await browsing.window(web);
      const { page } = window;
      try {
        await window.open('/notes');
        await page.getByText('1 to 50 of 10,000 shown').waitFor();
        expect(await page.locator('.hits > li').count()).toBe(50);
        const before = page.getByRole('button', { name: 'Before these' });
        expect(await before.isDisabled()).toBe(true);
        await page.getByRole('button', { name: 'After these' }).click();
        await page.getByText('51 to 100 of 10,000 shown').waitFor();
        await window.open('/notes?skip=9950');
        await page.getByText('9,951 to 10,000 of 10,000 shown').waitFor();
        await page.getByRole('link', { name: 'note 0', exact: true }).waitFor();
        expect(await page.getByRole('button', { name: 'After these' }).isDisabled()).toBe(true);
        await before.click();
        await page.getByText('9,901 to 9,950 of 10,000 shown').waitFor();
      } finally {
        await window.close();
        await web.stop();
      }
    },
  );

  it(
    'the name of a skill is completed where a message begins, and nothing is asked before',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', { worker: 'true' });
      await pushed(host, {
        'local/skills/release/SKILL.md': skill('release', `Cuts <b>one</b> ${RTL}`, 'Cut it.'),
        'local/skills/removed/SKILL.md': 'cannot be read',
      });
      const web = await Web.open(host);
      const window = await browsing.window(web);
      const { page } = window;
      const asked: string[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/api/skills')) asked.push(request.url());
      });
      try {
        await window.open(`/write?channel=${host.channel()}`);
        const field = page.getByLabel('Message (markdown)');
        const offers = page.getByRole('listbox', { name: 'Skills' }).getByRole('option');
        await field.click();
        await page.keyboard.type('a /re');
        await field.fill('');
        expect(asked).toEqual([]);
        await page.keyboard.type('/re');
        await soon(() => offers.allInnerTexts()).toEqual([
          '/release Cuts <b>one</b> \\u202egnirts\\u202c',
          expect.stringMatching(/^\/remember /),
          expect.stringMatching(/^\/review /),
        ]);
        expect(await field.getAttribute('aria-activedescendant')).toBe(
          await offers.first().getAttribute('id'),
        );
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.keyboard.type('the change');
        await soon(() => field.inputValue()).toBe('/review the change');
        await soon(() => offers.count()).toBe(0);
        // Escape leaves it at what was typed, and a path is no name of a skill.
        await field.fill('');
        await page.keyboard.type('/rel');
        await soon(() => offers.count()).toBe(1);
        await page.keyboard.press('Escape');
        await soon(() => offers.count()).toBe(0);
        await page.keyboard.press('Enter');
        expect(await field.inputValue()).toBe('/rel\n');
        await field.fill('');
        await page.keyboard.type('/release/x');
        await soon(() => offers.count()).toBe(0);
        await field.fill('');
        await page.keyboard.type('/st');
        await offers.first().click();
        await soon(() => field.inputValue()).toBe('/standup ');
        await page.getByRole('combobox', { name: 'To' }).fill('worker');
        await field.click();
        await page.keyboard.press('Control+Enter');
        await page.getByText(/^(Queued|Sent)\./).waitFor();
        expect(window.errors).toEqual([]);
      } finally {
        await window.close();
        await web.stop();
      }
    },
  );
});
