import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageFile } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { Bus, type Host } from '../support/bus.ts';
import {
  Browsing,
  hasBrowser,
  SLOW,
  PHONE,
  soon,
  UNLESS,
  WIDE,
  type Window,
} from '../support/browser.ts';
import { Web } from '../support/web.ts';

/** Texts that must stay text wherever they appear. */
const ATTACKS = [
  '<script>globalThis.hacked = 1</script>',
  '<img src=x onerror="globalThis.hacked = 1">',
  '<svg/onload=globalThis.hacked=1>',
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
  '[a](javascript:globalThis.hacked=1)',
  '[b](  JAVASCRIPT&colon;globalThis.hacked=1)',
  '![c](javascript:globalThis.hacked=1)',
  '![d](https://example.com/track.png)',
  '<javascript:globalThis.hacked=1>',
  '[e](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[f](vbscript:x "onmouseover=globalThis.hacked=1")',
  '[g]: javascript:globalThis.hacked=1\n\n[g]',
  '```"><script>globalThis.hacked=1</script>\ncode\n```',
  '| <b onclick=globalThis.hacked=1>h</b> |\n| --- |\n| <style>*{display:none}</style> |',
  '<a href="x" style="position:fixed;inset:0">cover</a>',
  '{{constructor.constructor("globalThis.hacked=1")()}} ${globalThis.hacked=1}',
  '<base href="https://example.com/"><meta http-equiv="refresh" content="0;url=https://example.com">',
  '&lt;script&gt;globalThis.hacked=1&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;',
];
const CHANNEL = 'aaaaaaaa-2222-4333-8444-555555555555';
const EMPTY = 'cccccccc-2222-4333-8444-555555555555';
const NAMED = 'bbbbbbbb-2222-4333-8444-555555555555';
const TITLE = '"><img src=x onerror=globalThis.hacked=1><script>hacked=1</script>';

const PLAIN = { forcedColors: 'none', reducedMotion: 'no-preference' } as const;
const LIGHT = { ...PLAIN, colorScheme: 'light' } as const;
const DARK = { ...PLAIN, colorScheme: 'dark' } as const;
/** How the page is looked at. Zooming makes a window smaller, in pixels of the page. */
const LOOKS = [
  ['light', LIGHT, WIDE],
  ['dark', DARK, WIDE],
  ['dark on a phone', DARK, PHONE],
  ['light on a phone', LIGHT, PHONE],
  ['at 200 %', LIGHT, { width: 640, height: 512 }],
  ['at 400 %', DARK, { width: 320, height: 256 }],
  ['in forced colours', { ...LIGHT, forcedColors: 'active' }, WIDE],
  ['without motion', { ...DARK, reducedMotion: 'reduce' }, WIDE],
] as const;

const relPathOf = (n: number): string =>
  `2026/06/09/19${String(n).padStart(2, '0')}00000Z-${String(n).padStart(12, '0')}.md`;

describe.skipIf(!hasBrowser)(`the page, for whoever reads it ${UNLESS}`, () => {
  const browsing = new Browsing();
  let host: Host;
  let web: Web;
  let views: Record<string, string>;

  beforeAll(async () => {
    const bus = new Bus();
    host = await bus.host('front', { worker: { quick: 'cat', 'large model': 'cat' } });
    const message = (n: number, body: string, re: string[] = [], channel = CHANNEL) => [
      messageFile(channel, relPathOf(n)),
      formatMessage({
        from: re.length > 0 ? 'worker' : 'anna',
        to: [{ name: re.length > 0 ? 'anna' : 'worker' }],
        type: 'text',
        timestamp: `2026-06-09T19:${String(n).padStart(2, '0')}:00.000Z`,
        re,
        cause: [],
        tier: 'large model',
        host: 'front',
        extra: { subject: ATTACKS[0] },
        body: `${body}\n`,
      }),
    ];
    const plain =
      'A *question* with `code`, [a link](https://example.com) and\n\n# a heading\n\n- a list';
    host.edit(
      Object.fromEntries([
        [`data/channels/${CHANNEL}/CHANNEL.md`, `---\nname: plain talk\n---\nAbout everything.\n`],
        [`data/channels/${EMPTY}/CHANNEL.md`, '---\nname: empty\n---\nNothing yet.\n'],
        [
          `data/channels/${NAMED}/CHANNEL.md`,
          `---\nname: ${JSON.stringify(TITLE)}\nparent: ${CHANNEL}\n---\n${ATTACKS.join('\n')}\n`,
        ],
        message(1, plain),
        message(2, '| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nsome code\n```', [relPathOf(1)]),
        message(3, 'still open'),
        [
          messageFile(CHANNEL, relPathOf(4)),
          formatMessage({
            from: 'worker',
            to: [{ name: 'operator' }],
            type: 'text',
            timestamp: '2026-06-09T19:04:00.000Z',
            re: [relPathOf(1)],
            cause: [],
            asks: true,
            options: ['yes', 'no'],
            host: 'front',
            extra: {},
            body: `${ATTACKS.join('\n')}\n`,
          }),
        ],
        ...ATTACKS.map((attack, n) => message(n, attack, [], NAMED)),
        // Invalid names make the files malformed, and they are reported as such.
        [
          messageFile(CHANNEL, relPathOf(50)),
          `---\nfrom: "<img src=x onerror=hacked=1>"\nto: worker\ntype: text\ntimestamp: 2026-06-09T19:50:00Z\n---\n`,
        ],
      ]) as Record<string, string>,
    );
    await host.run('sync');
    web = await Web.open(host);
    views = {
      inbox: '/',
      now: '/now',
      empty: `/c/${EMPTY}`,
      conversations: '/c',
      conversation: `/c/${CHANNEL}`,
      message: `/m/${CHANNEL}/${relPathOf(1)}`,
      thread: `/t/${CHANNEL}/${relPathOf(1)}`,
      flow: '/flow',
      cost: '/cost',
      search: '/search?q=question',
      write: `/write?channel=${CHANNEL}`,
    };
  });
  afterAll(() => web.stop());

  /** Waits until a view shows its content. */
  async function settled({ page }: Window, view: string): Promise<void> {
    const sign: Record<string, string> = {
      inbox: '.row',
      now: '.card .rows li',
      empty: '.talk .empty',
      conversations: '.channel-list li',
      conversation: 'article',
      message: 'article[aria-current=true]',
      thread: '.node .states',
      flow: '.timeline',
      cost: '.cost p',
      search: '.hits li',
      write: '.composer textarea',
    };
    await page
      .locator(sign[view] ?? 'h1')
      .first()
      .waitFor();
    await page.locator('nav .tree li').first().waitFor({ state: 'attached' });
    await page.evaluate(
      'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
    );
  }

  it(
    'no view breaks a rule of axe: light, dark or forced colours, wide, on a phone, at 200 and 400 %',
    { tags: 'long' },
    async () => {
      // The page's policy also blocks the checker's script, so the policy is disabled here.
      const window = await browsing.window(web, { bypassCSP: true });
      const { page } = window;
      const broken: string[] = [];
      for (const [view, path] of Object.entries(views)) {
        await window.open(path);
        await settled(window, view);
        if (view === 'write' || view === 'conversation') {
          await page.locator('summary', { hasText: 'More' }).click();
          await page.getByRole('button', { name: 'Add an option' }).click();
        }
        await page.addScriptTag({ content: axe.source });
        for (const [look, media, viewport] of LOOKS) {
          await page.emulateMedia(media);
          await page.setViewportSize(viewport);
          await settled(window, view);
          const found = await page.evaluate<string[]>(
            'axe.run({ resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`))',
          );
          broken.push(...found.map((one) => `${view}, ${look}: ${one}`));
        }
      }
      await window.close();
      expect(broken).toEqual([]);
    },
  );

  it.each([
    ['wide', WIDE],
    ['phone', PHONE],
  ])(
    'nothing moves while a view is loaded on a %s screen',
    { tags: 'long' },
    async (_, viewport) => {
      const window = await browsing.window(web, { viewport });
      await window.context.addInitScript(`globalThis.moved = [];
      new PerformanceObserver((list) => {
        for (const one of list.getEntries())
          globalThis.moved.push(...one.sources.map(({ node }) => one.value + ' ' + (node?.outerHTML ?? node?.textContent ?? '').slice(0, 80)));
      }).observe({ type: 'layout-shift', buffered: true });`);
      for (const [view, path] of Object.entries(views)) {
        await window.open(path);
        await settled(window, view);
        expect(await window.page.evaluate('globalThis.moved'), view).toEqual([]);
      }
      // Check the measurement itself: a deliberate shift is noticed.
      await window.page.evaluate("document.querySelector('h1').style.marginTop = '80px'");
      await soon(() => window.page.evaluate('globalThis.moved.length')).not.toBe(0);
      await window.close();
    },
  );

  it('nothing written in a message, a title or a name becomes markup or runs', SLOW, async () => {
    const window = await browsing.window(web);
    const { page } = window;
    for (const path of [
      `/c/${NAMED}`,
      `/m/${NAMED}/${relPathOf(0)}`,
      `/t/${NAMED}/${relPathOf(2)}`,
      '/search?q=hacked',
      '/flow',
      '/c',
      '/',
      '/now',
      `/write?channel=${NAMED}`,
      `/x/${encodeURIComponent(TITLE)}`,
      `/search?q=${encodeURIComponent(TITLE)}`,
    ]) {
      await window.open(path);
      await page.locator('nav .tree').getByText(TITLE).waitFor();
      await page.locator('h1').waitFor();
      if (path.startsWith('/write'))
        await page.getByRole('textbox', { name: /^Message/ }).fill(ATTACKS.join('\n\n'));
      if (path.startsWith('/write')) await page.getByRole('button', { name: 'Preview' }).click();
      if (path.startsWith('/c/')) await page.locator('article').nth(5).waitFor();
      const found = await page.evaluate(`({
        ran: globalThis.hacked ?? null,
        foreign: [...document.querySelectorAll('main script, main iframe, main img, main style, main base, main meta, main svg image')].map((one) => one.outerHTML),
        handlers: [...document.querySelectorAll('main *')].flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on'))),
        links: [...document.querySelectorAll('main a')].map((one) => one.protocol).filter((one) => !['http:', 'https:', 'mailto:'].includes(one)),
      })`);
      expect(found, path).toEqual({ ran: null, foreign: [], handlers: [], links: [] });
    }
    expect(window.errors).toEqual([]);
    expect(window.abroad).toEqual([]);
    await window.close();
  });

  it('a link out of the page tells where it leads and hands nothing over', async () => {
    const window = await browsing.window(web);
    await window.open(`/m/${CHANNEL}/${relPathOf(1)}`);
    const link = window.page.getByRole('link', { name: 'a link', exact: true });
    await soon(() => link.getAttribute('rel')).toBe('noopener noreferrer');
    expect(await link.getAttribute('title')).toBe('https://example.com/');
    await window.close();
  });
});
