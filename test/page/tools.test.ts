// @module-tag long
import { describe, expect, it } from 'vitest';
import type { WebNow } from '../../src/api/api.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Browsing, hasBrowser, SLOW, UNLESS } from '../support/browser.ts';
import { profileWith, vault } from '../support/tools.ts';
import { until } from '../support/wait.ts';
import { Web } from '../support/web.ts';

// automation.md, "Tools by value": what is approved, held and missing.

async function served(): Promise<{ host: Host; web: Web }> {
  const host = await new Bus().host('front', { worker: 'cat', plain: 'cat' });
  const tools = (...mcps: unknown[]): void => {
    host.edit({ 'local/actors/worker.md': profileWith('worker', mcps) });
  };
  tools(vault({ KEY: '${vault.key}' }), vault({ ONE: 'a' }, 'open'));
  await host.approve();
  tools(vault({ KEY: '${vault.key}' }), vault({ ONE: '\u202Eb' }, 'open'), vault({}, 'more'));
  await host.news();
  return { host, web: await Web.start(host) };
}

it('the API of the page says which tools of an actor are approved, held, and lack a secret', async () => {
  const { host, web } = await served();
  const tools = async (name: string): Promise<unknown> => {
    const { actors } = await web.get<WebNow>('/api/now');
    return actors.find((actor) => actor.name === name)?.tools;
  };
  expect(await tools('plain')).toEqual([]);
  expect(await tools('worker')).toEqual([
    { name: 'vault', state: 'approved', missing: ['vault.key'] },
    { name: 'open', state: 'approved', missing: [] },
    { name: 'open', state: 'held', missing: [] },
    { name: 'more', state: 'held', missing: [] },
  ]);
  const status = await host.run('status');
  expect(status.out).toContain('the tools of worker need vault.key');
  expect(status.out).toContain('crosstalk secret set vault.key');
  expect(status.out).toContain('held until approved: worker.mcps: mcps.open');
  await host.runWith({ stdin: 'x' }, 'secret', 'set', 'vault.key');
  await until('the secret', async () => {
    const [first] = (await tools('worker')) as WebNow['actors'][number]['tools'];
    return first?.missing.length === 0;
  });
});

describe.skipIf(!hasBrowser)(`Now, of an actor with tools ${UNLESS}`, SLOW, () => {
  const browsing = new Browsing();

  it('shows them, with what is held and what is missing', async () => {
    const { web } = await served();
    const window = await browsing.window(web);
    await window.open('/now');
    const { page } = window;
    const verdict = page.getByRole('region', { name: 'Verdict', exact: true });
    await verdict.getByText('held until approved: worker.mcps').waitFor();
    await verdict.getByText('the tools of worker need vault.key').waitFor();
    await verdict.getByText('crosstalk secret set vault.key', { exact: true }).waitFor();
    const actors = page.getByRole('region', { name: 'Actors', exact: true });
    await actors.getByText('vault: lacks vault.key').waitFor();
    await actors.getByText('more: held until approved').waitFor();
    // What came from elsewhere is shown so that nothing in it turns the text around.
    expect(await page.content()).not.toContain('\u202E');
  });
});
