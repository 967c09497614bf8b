// @module-tag long
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Bus, Running, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Sessions kept warm on the page ${UNLESS}`, () => {
  const browsing = new Browsing();

  /** A host with an actor whose process is kept. */
  async function keeping(): Promise<{ bus: Bus; host: Host; folder: string }> {
    const bus = new Bus();
    const folder = join(bus.root, 'keeping');
    mkdirSync(folder);
    const host = await bus.host('front', { shell: 'sleep 600' });
    host.env['KEEPING'] = folder;
    host.declare({
      shell: { default: { cli: 'sleep 600' } },
      worker: { default: { cli: agent('warm/gemini', '--skip-trust'), session: 'warm' } },
    });
    await host.approve();
    return { bus, host, folder };
  }

  it('a kept process is shown with what it holds, and ended by a button', SLOW, async () => {
    const { bus, host } = await keeping();
    const running = host.start();
    const window = await browsing.window(await Web.start(host));
    const { page } = window;
    await window.open('/now');
    const card = page.getByRole('region', { name: 'Sessions kept warm' });
    await page.getByRole('region', { name: 'Hosts' }).waitFor();
    expect(await card.count()).toBe(0);

    await host.send('worker', 'ABOUT-apples');
    await until('the answer', () => bus.from('worker').length === 1);
    await soon(() => card.innerText()).toMatch(/worker[\s\S]*1 run, .* of .* tokens, \d+ MiB/);
    await host.send('worker', 'ABOUT-pears');
    await soon(() => card.locator('li').count()).toBe(2);

    const wall = await browsing.window(await Web.start(host, '--read-only'));
    await wall.open('/now');
    const onWall = wall.page.getByRole('region', { name: 'Sessions kept warm' });
    await soon(() => onWall.locator('li').count()).toBe(2);
    expect(await onWall.getByRole('button').count()).toBe(0);
    await wall.close();

    const ends = card.getByRole('button', { name: 'End session of worker' });
    await ends.first().click();
    await soon(() => card.locator('li').count()).toBe(1);
    await ends.first().click();
    await soon(() => card.count()).toBe(0);
    const kept = JSON.parse((await host.run('session', 'list', '--json')).out) as unknown[];
    expect(kept).toEqual([]);
    expect(window.errors).toEqual([]);
    await window.close();
    await running.stop();
  });

  it('more is said to an actor that keeps its process, while it works', SLOW, async () => {
    const { bus, host, folder } = await keeping();
    writeFileSync(join(folder, 'mood'), 'steers');
    const running = new Running(host, ['--grace', '0']);
    const window = await browsing.window(await Web.start(host));
    const { page } = window;
    const plain = await host.send('shell', 'take your time');
    const question = await host.send('worker', 'please wait ABOUT-apples');
    await until(
      'both runs',
      () => running.events.filter(({ event }) => event === 'dispatch_start').length === 2,
    );

    await window.open(`/m/${host.channel()}/${plain}`);
    const other = page.locator('article[aria-current=true]');
    await soon(() => other.innerText()).toContain('is at work');
    expect(await other.getByRole('button', { name: 'Say more' }).count()).toBe(0);

    await window.open(`/m/${host.channel()}/${question}`);
    const item = page.locator('article[aria-current=true]');
    await item.getByRole('button', { name: 'Say more to worker' }).click();
    await item.getByRole('textbox', { name: 'What else it should know' }).fill('also ABOUT-pears');
    await item.getByRole('button', { name: 'Send now' }).click();
    await page.getByText('turn 1 ABOUT-apples ABOUT-pears').first().waitFor();
    await soon(() => item.getByRole('button', { name: 'Say more' }).count()).toBe(0);
    const [answer] = bus.from('worker');
    expect(answer?.message.steered).toMatchObject([{ how: 'into' }]);
    expect(answer?.message.re[0]).toBe(question);
    expect(window.errors).toEqual([]);
    await window.close();
    await running.stop();
  });
});
