import type { WebMessagePage } from '../../src/api/api.ts';
import { messageFile, relPathAt } from '../../src/protocol/layout.ts';
import { formatMessage } from '../../src/protocol/message.ts';
import { expect } from 'vitest';
import { soon, type Window } from './browser.ts';
import { fastImport } from './bulk.ts';
import { Bus, Running, type Host } from './bus.ts';
import { git } from './git.ts';
import { until } from './wait.ts';
import { Web } from './web.ts';

const FIRST_AT = Date.UTC(2026, 0, 1);

/** Where the `n`-th message of a {@link LongTalk} is. */
export const relPathOf = (n: number): string =>
  relPathAt(new Date(FIRST_AT + n * 60_000), n.toString(16).padStart(12, '0'));
/** The lengths vary, so that no estimate of a height is right. */
const bodyOf = (n: number): string =>
  `number ${String(n)}.${'\n\nand more words of it'.repeat((n * 7) % 5)}\n`;

/** A bus with one long conversation, its dispatcher, and the page that shows it. */
export class LongTalk {
  readonly host: Host;
  readonly web: Web;
  readonly channel: string;
  readonly #running: Running;

  private constructor(host: Host, web: Web, running: Running) {
    this.host = host;
    this.web = web;
    this.channel = host.channel();
    this.#running = running;
  }

  /** Makes `many` messages, and waits until all are in the index. */
  static async make(many: number): Promise<LongTalk> {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat' });
    const channel = host.channel();
    await fastImport(
      bus.hub,
      Array.from({ length: many }, (_, n) => [
        messageFile(channel, relPathOf(n)),
        formatMessage({
          from: 'anna',
          to: [{ name: 'ben' }],
          type: 'text',
          timestamp: new Date(FIRST_AT + n * 60_000).toISOString(),
          re: [],
          cause: [],
          extra: {},
          body: bodyOf(n),
        }),
      ]),
    );
    // The dispatcher should leave these files in git.
    git(host.dir, 'checkout', '--quiet', '--detach');
    await host.news();
    const running = new Running(host, []);
    const web = await Web.open(host);
    await until('the index', async () => {
      const path = `/api/channels/${channel}/messages?limit=1`;
      const { complete, total } = await web.get<WebMessagePage>(path);
      return complete && total >= many;
    });
    return new LongTalk(host, web, running);
  }

  async end(): Promise<void> {
    await this.web.stop();
    await this.#running.stop();
  }
}

/** The article of the `n`-th message. */
export const numbered = ({ page }: Window, n: number) =>
  page.locator('article', { hasText: new RegExp(`number ${String(n)}\\.`) });

/** The first message that is completely visible, and its distance from the list's top. */
export const place = ({ page }: Window): Promise<{ text: string; top: number }> =>
  page.evaluate(`(() => {
    const box = document.querySelector('.windowed');
    const edge = box.getBoundingClientRect().top;
    const one = [...box.querySelectorAll('article')].find((each) => each.getBoundingClientRect().top >= edge);
    return { text: one?.querySelector('.md')?.firstChild.textContent ?? '', top: Math.round(one?.getBoundingClientRect().top - edge) };
  })()`);

/** The number of the first message that is completely visible. */
export const seen = async (window: Window): Promise<number> =>
  Number(/number (\d+)/.exec((await place(window)).text)?.[1]);

/** The number of frames in which nothing may move before a list counts as settled. */
const STILL_FRAMES = 12;

/**
 * Where the list stands once it has taken the heights of what it shows, and moves no more: a wheel
 * scrolls over several frames, and those of a machine under load come late.
 */
export async function settled(window: Window): ReturnType<typeof place> {
  await window.page.evaluate(`new Promise((done) => {
    const box = document.querySelector('.windowed');
    let last = '';
    let still = 0;
    const look = () => {
      const now = box.scrollTop + ' ' + box.scrollHeight;
      still = now === last ? still + 1 : 0;
      last = now;
      if (still < ${String(STILL_FRAMES)}) requestAnimationFrame(look);
      else done();
    };
    look();
  })`);
  return place(window);
}

/** Pixels between the reader and the end of the list. */
const untilEnd = ({ page }: Window): Promise<number> =>
  page.evaluate(
    "(() => { const box = document.querySelector('.windowed'); return Math.round(box.scrollHeight - box.scrollTop - box.clientHeight); })()",
  );

/** Scrolls up with the wheel until the reader is at least `pixels` from the end. */
export async function scrollUp(window: Window, pixels: number): Promise<void> {
  await window.page.locator('.windowed').hover();
  await soon(async () => {
    if ((await untilEnd(window)) < pixels)
      await window.page.mouse.wheel(0, -Math.min(1500, pixels));
    return untilEnd(window);
  }).toBeGreaterThanOrEqual(pixels);
}

/** Expects the reader to be at the end, where the last message is `text`, and to stay there. */
export async function expectEnd(window: Window, text: string | RegExp): Promise<void> {
  await window.page.locator('article', { hasText: text }).last().waitFor();
  await soon(() => untilEnd(window)).toBeLessThanOrEqual(3);
  await settled(window);
  expect(await untilEnd(window)).toBeLessThanOrEqual(3);
}
