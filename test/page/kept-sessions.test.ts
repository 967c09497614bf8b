import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Browsing, hasBrowser, SLOW, soon, UNLESS } from '../support/browser.ts';
import { Bus } from '../support/bus.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Sessions kept warm on the page ${UNLESS}`, () => {
  const browsing = new Browsing();

  it('a kept process is shown with what it holds, and ended by a button', SLOW, async () => {
    const bus = new Bus();
    const folder = join(bus.root, 'keeping');
    mkdirSync(folder);
    const host = await bus.host('front', {});
    host.env['KEEPING'] = folder;
    host.declare({
      worker: { default: { cli: agent('warm/gemini', '--skip-trust'), session: 'warm' } },
    });
    await host.approve();
    const running = host.start();
    const window = await browsing.window(await Web.start(host));
    const { page } = window;
    const card = page.getByRole('region', { name: 'Sessions kept warm' });
    await page.getByRole('region', { name: 'Hosts' }).waitFor();
    expect(await card.count()).toBe(0);

    await host.send('worker', 'ABOUT-apples');
    await until('the answer', () => bus.from('worker').length === 1);
    await soon(() => card.innerText()).toMatch(/worker[\s\S]*1 run, .* of .* tokens, \d+ MiB/);
    await host.send('worker', 'ABOUT-pears');
    await soon(() => card.locator('li').count()).toBe(2);

    const wall = await browsing.window(await Web.start(host, '--read-only'));
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
});
