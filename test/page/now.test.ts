import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebNow } from '../../src/api/api.ts';
import { Bus, Running } from '../support/bus.ts';
import { Browsing, hasBrowser, PHONE, SLOW, soon, UNLESS, WIDE } from '../support/browser.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

describe.skipIf(!hasBrowser)(`Now, of a bus on which not all is well ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();
  let running: Running;
  let web: Web;

  beforeAll(async () => {
    const bus = new Bus();
    const script = (name: string, ...lines: string[]): string => {
      const path = join(bus.root, name);
      writeFileSync(path, `#!/bin/sh\ncat > /dev/null\n${lines.join('\n')}\n`);
      chmodSync(path, 0o755);
      return path;
    };
    const failing = script(
      'failing',
      String.raw`printf '\033[31mno paint\033[0m is left\n' >&2; exit 4`,
    );
    const front = await bus.host('front', {
      flaky: { default: { cli: failing, attempts: 3, retry_delay: '600s' } },
      broken: { default: { cli: failing, attempts: 1 } },
      limited: { default: { cli: script('limited', 'echo done'), max_runs_per_hour: 1 } },
      sleeper: script('sleeper', 'exec sleep 600'),
    });
    await bus.host('back', { distant: 'cat' });
    // Older than the run that takes it.
    await front.send('sleeper', 'think about it');
    running = new Running(front, ['--grace', '0']);
    web = await Web.open(front);
    await front.send('limited', 'the first');
    await until('the answer', () => bus.from('limited').length === 1);
    await front.send('limited', 'the second');
    for (const name of ['flaky', 'broken', 'distant']) await front.send(name, `to ${name}`);
    await until('every state', async () => {
      const { actors } = await web.get<WebNow>('/api/now');
      const has = (name: string, state: keyof WebNow['actors'][number]['by_state']): boolean =>
        actors.some((actor) => actor.name === name && actor.by_state[state] === 1);
      return (
        has('flaky', 'failing') &&
        has('broken', 'failed') &&
        has('limited', 'held') &&
        has('sleeper', 'running') &&
        has('distant', 'waiting')
      );
    });
  }, SLOW.timeout);
  afterAll(async () => {
    await web.stop();
    await running.stop();
  });

  it('every state of mail has its own word, and a run has one age', { tags: 'long' }, async () => {
    const window = await browsing.window(web);
    await window.open('/now');
    const { page } = window;
    const card = (name: string) => page.getByRole('region', { name, exact: true });
    const mail = (state: string) => card('Waiting mail').locator(`[data-state=${state}]`);
    await mail('failing')
      .getByText(/flaky failed; attempt 1 of 3, next at/)
      .waitFor();
    await mail('failed').getByText('broken failed').waitFor();
    await mail('held')
      .getByText(/waiting for limited: the hourly limit of runs is reached until/)
      .waitFor();
    await mail('waiting').getByText('waiting for distant').waitFor();
    await card('Actors').getByText('1 failing').waitFor();
    await card('Actors').getByText('1 held').waitFor();
    const begun = async (where: string): Promise<string | null> =>
      card(where).locator('[data-state=running] time').first().getAttribute('datetime');
    const since = await begun('Actors');
    expect(since).not.toBeNull();
    expect(await begun('Waiting mail')).toBe(since);
    await page.getByRole('link', { name: 'think about it' }).click();
    const there = page.locator('.node [data-state=running] time');
    // The thread takes it from the dispatcher's report, in the same second.
    await soon(async () =>
      Math.abs(Date.parse((await there.getAttribute('datetime')) ?? '') - Date.parse(since ?? '')),
    ).toBeLessThan(2000);
    await window.close();
  });

  it('the verdict tells what needs somebody from what ends without, and hands the command over', async () => {
    const window = await browsing.window(web);
    await window.open('/now');
    const { page, context } = window;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const verdict = page.getByRole('region', { name: 'Verdict' });
    const under = (title: string) =>
      verdict.getByRole('heading', { name: title }).locator('xpath=following-sibling::ul[1]');
    await under('Needs you').getByText('quarantined deliveries: 1').waitFor();
    await under('Goes on without you').getByText('mail for limited is parked until').waitFor();
    await under('Goes on without you').getByText('retried by themselves: 1').waitFor();
    // Times are those of the reader.
    expect(await verdict.innerText()).not.toMatch(/\d{4}-\d{2}-\d{2}T/);
    await verdict.getByRole('button', { name: 'Copy crosstalk dlq --retry all' }).click();
    await verdict.getByText('Copied').first().waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('crosstalk dlq --retry all');
    expect(window.errors).toEqual([]);
    await window.close();
  });

  it('nobody reads codes or what was meant for a terminal', async () => {
    const window = await browsing.window(web);
    await window.open('/now');
    const letters = window.page.getByRole('region', { name: 'Dead letters and parked mail' });
    await letters.getByText('exit code 4: no paint is left').first().waitFor();
    await letters.getByText('the command failed').first().waitFor();
    const read = await window.page.locator('main').innerText();
    expect(read).not.toMatch(/exit_code|max_runs_per_hour\b(?!;)|rate_limited|\[31m/);
    await window.close();
  });

  it.each([
    ['wide', WIDE],
    ['phone', PHONE],
  ])('nothing in it is cut off on a %s screen', { tags: 'long' }, async (_, viewport) => {
    const window = await browsing.window(web, { viewport });
    await window.open('/now');
    const { page } = window;
    await page.getByText(/The dispatcher here/).waitFor();
    const cut = await page.evaluate(`[...document.querySelectorAll('main .view *')]
      .filter((one) => getComputedStyle(one).overflow !== 'visible' && !one.matches('.aside, meter, meter *'))
      .filter((one) => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1)
      .map((one) => one.outerHTML.slice(0, 120))`);
    expect(cut).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    await window.close();
  });
});
