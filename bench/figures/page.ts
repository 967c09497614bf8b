import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium, type Browser, type BrowserContext } from 'playwright-core';
import type { Figure, Scale } from '../figure.ts';
import { spread, type Spread } from '../measure.ts';
import { Streams } from '../stage/streams.ts';
import { hasNats, serveNats, withBell } from '../nats.ts';
import { World, type Machine } from '../world.ts';

/** Milliseconds until a message is shown, from this machine and from another one. */
const [SHOWN_MS, FAR_MS] = [200, 500];
const FAR = 'after Sent: on another machine, with the bell';
const BUNDLE_KB = 150;
const SERVER_MB = 30;
const FOLDER = fileURLToPath(new URL('../../dist/page', import.meta.url));
/** A path that does not exist: the server answers with a page of one line. */
const EMPTY = 'empty.txt';

/** The cost of the page of `crosstalk web`, with a large channel behind it. */
export async function page({ sizes, rounds, streams, streaming }: Scale): Promise<Figure[]> {
  const world = await World.make();
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    const messages = sizes.at(-1) ?? 0;
    const [host, far] = [await world.machine('front'), await world.machine('back')];
    const bell = hasNats('page') ? await serveNats(world) : undefined;
    for (const one of [host, far]) if (bell !== undefined) await withBell(one, bell);
    await world.git(host.dir, 'checkout', '--quiet', '--detach');
    await world.git(far.dir, 'checkout', '--quiet', '--detach');
    await world.fill(messages);
    for (const { dir } of [host, far]) await world.git(dir, 'fetch', '--quiet');
    await host.run('index');
    const dispatcher = await host.serve();
    const other = await far.serve();
    if (bell !== undefined) for (const one of [dispatcher, other]) await one.saw('bell_up');
    const web = host.start('web', '--port', '0');
    await web.printed('Open: http');
    const url = /Open: (\S+)/.exec(web.out)?.[1] ?? '';
    const figures = [
      ...(await loading(browser, url, { rounds, messages })),
      await arriving(browser, url, { from: host, rounds, what: 'after Sent:', limit: SHOWN_MS }),
      ...(bell === undefined
        ? []
        : [await arriving(browser, url, { from: far, rounds, what: FAR, limit: FAR_MS })]),
      bundle(),
      resident(web.pid, dispatcher.child.pid ?? 0),
      await lasting(url, host, streams, streaming),
    ];
    for (const one of [dispatcher, other]) await one.stop();
    return figures;
  } finally {
    await browser.close();
    await world.end();
  }
}

interface Times {
  paint: number;
  interactive: number;
}

/**
 * The time to the first paint, and until the conversation can be read and used, compared to an
 * empty page.
 */
async function loading(
  browser: Browser,
  url: string,
  { rounds, messages }: { rounds: number; messages: number },
): Promise<Figure[]> {
  const { origin } = new URL(url);
  const context = await browser.newContext();
  const entry = await context.newPage();
  await entry.goto(url);
  await entry.waitForURL(`${origin}/`);
  const channel = await entry.evaluate<string>(
    "fetch('/api/channels').then((answer) => answer.json()).then(({ channels }) => channels[0].id)",
  );
  const paints: Record<'page' | 'floor', number[]> = { page: [], floor: [] };
  const ready: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const floor = await timesOf(context, `${origin}/${EMPTY}`, 'body');
    const shown = await timesOf(context, `${origin}/c/${channel}`, 'article');
    if (round === 0) continue;
    paints.floor.push(floor.paint);
    paints.page.push(shown.paint);
    ready.push(shown.interactive);
  }
  await context.close();
  const floor: { what: string } & Spread = { what: 'a page of one line', ...spread(paints.floor) };
  const of = (figure: string, samples: readonly number[], limit: number): Figure => {
    const measured = spread(samples);
    const met = measured.p95 < limit;
    const many = messages.toLocaleString('en');
    return {
      figure: `${figure}, ${many} messages`,
      floor,
      measured,
      goal: `< ${String(limit)} ms`,
      met,
    };
  };
  return [
    of('page: first paint', paints.page, 1000),
    of('page: the newest messages are there and can be used', ready, 1500),
  ];
}

async function timesOf(context: BrowserContext, address: string, sign: string): Promise<Times> {
  const page = await context.newPage();
  try {
    // Recorded in the page itself, so that the driver of the browser does not count.
    await page.addInitScript(`new MutationObserver((_, seen) => {
      if (document.querySelector(${JSON.stringify(sign)}) === null) return;
      seen.disconnect();
      requestAnimationFrame(() => setTimeout(() => { globalThis.readyAt = performance.now(); }));
    }).observe(document, { childList: true, subtree: true });`);
    await page.goto(address);
    return await page.evaluate<Times>(`new Promise((resolve) => {
      const look = () => {
        const [paint] = performance.getEntriesByName('first-contentful-paint');
        if (paint === undefined || globalThis.readyAt === undefined) setTimeout(look, 5);
        else resolve({ paint: paint.startTime, interactive: globalThis.readyAt });
      };
      look();
    })`);
  } finally {
    await page.close();
  }
}

/** The time from `Sent:` of a command until an open page shows the message. */
async function arriving(
  browser: Browser,
  url: string,
  { from, rounds, what, limit }: { from: Machine; rounds: number; what: string; limit: number },
): Promise<Figure> {
  const { origin } = new URL(url);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForURL(`${origin}/`);
  await page.getByRole('navigation', { name: 'Channels' }).getByRole('link').first().click();
  await page.locator('article').first().waitFor();
  const samples: number[] = [];
  const sends: number[] = [];
  for (let n = 0; n <= rounds; n++) {
    const words = `message ${String(n)} of ${from.alias} for the page`;
    // Measured with the clock of the machine, which both processes share.
    const shown = page.evaluate<number>(`new Promise((resolve) => {
      const look = () => {
        if (document.querySelector('.talk')?.textContent.includes(${JSON.stringify(words)})) resolve(Date.now());
        else requestAnimationFrame(look);
      };
      look();
    })`);
    const begun = performance.now();
    const send = from.start('send', '--to', 'nobody', '--from', 'me', words);
    const sent = performance.timeOrigin + (await send.printed('Sent: '));
    const ms = (await shown) - sent;
    await send.ended;
    if (n === 0) continue;
    samples.push(ms);
    sends.push(sent - performance.timeOrigin - begun);
  }
  await context.close();
  const measured = spread(samples);
  return {
    figure: `page: a message is shown ${what}`,
    floor: { what: 'the send alone', ...spread(sends) },
    measured,
    goal: `< ${String(limit)} ms`,
    met: measured.p95 < limit,
  };
}

function bundle(): Figure {
  const bytes = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name))).length,
      0,
    );
  return {
    figure: 'page: everything a browser loads, compressed',
    value: `${(bytes / 1000).toFixed(0)} KB`,
    goal: `≤ ${String(BUNDLE_KB)} KB`,
    met: bytes <= BUNDLE_KB * 1000,
  };
}

function resident(server: number, dispatcher: number): Figure {
  const [web, own] = [residentOf(server), residentOf(dispatcher)];
  return {
    figure: 'page: the server’s memory over the dispatcher’s',
    value: `${(web - own).toFixed(0)} MB`,
    goal: `≤ ${String(SERVER_MB)} MB`,
    met: web - own <= SERVER_MB,
    note: `${web.toFixed(0)} and ${own.toFixed(0)} MB resident, after pages were loaded`,
  };
}

function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

/** Checks whether many open streams lose anything in a long time. @param seconds how long */
async function lasting(url: string, host: Machine, many: number, seconds: number): Promise<Figure> {
  const streams = await Streams.open(url, many);
  const until = performance.now() + seconds * 1000;
  let sent = 0;
  while (performance.now() < until) {
    const send = await host.run('send', '--to', 'nobody', '--from', 'me', `stream ${String(sent)}`);
    if (send.out.includes('Sent: ')) sent++;
    await sleep(Math.min(2000, seconds * 20));
  }
  const lost = await streams.lost(sent);
  streams.close();
  return {
    figure: `page: ${String(many)} open streams for ${String(seconds)} s`,
    value: `${String(lost)} lost`,
    goal: '0 lost',
    met: lost === 0 && sent > 0,
    note: `${String(sent)} messages to each`,
  };
}
