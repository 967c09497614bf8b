// npm run screenshots: takes pictures of the page for docs/screenshots, with a bus as on an
// ordinary day.
import { mkdirSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { setStage, type Stage } from './stage/stage.ts';

const FOLDER = 'docs/screenshots';
const SIZES = {
  wide: { width: 1200, height: 750 },
  phone: { width: 390, height: 780 },
};

const DRAFT = `Please look at **two** things:

1. why \`billing/rounding\` fails on the server
2. whether anybody still uses \`--legacy\`

> Leave the release branch as it is.
`;

const stage = await setStage();
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--disable-lcd-text'],
});
try {
  mkdirSync(FOLDER, { recursive: true });
  for (const size of ['wide', 'phone'] as const)
    for (const scheme of ['light', 'dark'] as const) await take(stage, size, scheme);
} finally {
  await browser.close();
  await stage.world.end();
}

async function take(
  { url, channel, question }: Stage,
  size: keyof typeof SIZES,
  colorScheme: 'light' | 'dark',
): Promise<void> {
  const { origin } = new URL(url);
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme,
    locale: 'en-GB',
  });
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForURL(`${origin}/`);
  const views: [name: string, path: string, sign: string][] = [
    ['inbox', '/', '.queue .row'],
    ['now', '/now', '.letter'],
    ['conversation', `/m/${channel}/${question}`, 'article table'],
    ['flow', '/flow', '.timeline .bar'],
  ];
  // These look similar in all variants: take one of each size, and one in each colour scheme.
  if ((colorScheme === 'light') === (size === 'wide')) {
    views.push(['thread', `/t/${channel}/${question}`, '.node .states']);
    views.push(['write', '/write', '.composer']);
  }
  for (const [name, path, sign] of views) {
    await page.goto(origin + path);
    await page.locator(sign).first().waitFor();
    if (name === 'write') {
      await page.getByRole('textbox', { name: /^Message/ }).fill(DRAFT);
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByRole('combobox', { name: 'To' }).fill('concierge, t');
    }
    // Wait for what is counted and painted after loading.
    await page.waitForTimeout(500);
    const picture = await page.screenshot();
    writeFileSync(`${FOLDER}/${name}-${size}-${colorScheme}.png`, picture);
  }
  await context.close();
}
