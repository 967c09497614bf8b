// @module-tag long
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Browsing, hasBrowser, PHONE, SLOW, UNLESS } from '../support/browser.ts';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

const DAY_MS = 86_400_000;

describe.skipIf(!hasBrowser)(`Cost ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();

  it('shows a bar for each day, the actors and the dearest threads, which it leads to', async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: agent('billed/claude', '-p', 'answer') });
    const question = await host.send('worker', 'one');
    const running = host.start();
    await host.run('replies', '--wait', question);
    const old = new Date(Date.now() - 3 * DAY_MS).toISOString();
    const folder = join(host.state, 'ledger');
    mkdirSync(folder, { recursive: true });
    const thread = { channel: host.channel(), relPath: question };
    const line = { at: old, id: 'old', actor: '<b>x</b>', host: 'front', channel: thread.channel };
    const rest = {
      tier: 'default',
      thread,
      ended: 'failed',
      ms: 5,
      usage: { input: 1, cached: 2, output: 3, usd: 1 },
    };
    writeFileSync(
      join(folder, `${old.slice(0, 7)}.jsonl`),
      `\n${JSON.stringify({ ...line, ...rest })}\n`,
      { flag: 'a' },
    );

    const web = await Web.open(host);
    const { page } = await browsing.window(web);
    await page.getByRole('link', { name: 'Flow' }).click();
    await page.getByRole('link', { name: 'What it costs' }).click();
    await page.getByText('2 runs since').waitFor();
    expect(await page.locator('.cost rect.spent').count()).toBeGreaterThan(29);
    expect(await page.locator('.cost rect.spent:not([height="0"])').count()).toBe(2);
    const actors = page.getByRole('region', { name: 'By actor' });
    expect(await actors.innerText()).toContain('<b>x</b>');
    expect(await actors.innerText()).toContain('$0.2500');
    await page.setViewportSize(PHONE);
    const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    expect(isWider).toBe(false);
    await page.getByRole('link', { name: question }).click();
    await page.getByRole('heading', { name: 'Thread' }).waitFor();
    await web.stop();
    await running.stop();
  });

  it('is loaded when it is opened, and a minute after runs once for all of them', async () => {
    const host = await new Bus().host('front', {
      worker: agent('billed/claude', '-p', 'answer'),
    });
    const running = host.start();
    const web = await Web.open(host);
    const { page } = await browsing.window(web);
    await page.clock.install();
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/api/cost') asked.push(searchParams.get('by') ?? '');
    });
    await page.getByRole('link', { name: 'Flow' }).click();
    await page.getByRole('link', { name: 'What it costs' }).click();
    await page.getByText('No runs since').waitFor();
    const stream = await web.events();
    for (let n = 1; n <= 3; n++) {
      const question = await host.send('worker', `part ${String(n)}`, '--new');
      await host.run('replies', '--wait', question);
      const ended = (): number => stream.of('runs').flatMap(({ data }) => data.ended).length;
      await until('the end of the run', () => ended() >= n);
      // Longer than the page collects other events.
      await page.clock.fastForward(1000);
    }
    await page.clock.fastForward(60_000);
    await page.getByText('3 runs since').waitFor();
    expect(asked.sort()).toEqual(['actor', 'actor', 'day', 'day', 'thread', 'thread']);
    await web.stop();
    await running.stop();
  });
});
