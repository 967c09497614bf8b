import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Event, type Host } from '../support/bus.ts';

/** Runs an actor once; returns its prompt and how many git processes the pass took. */
async function promptOf(host: Host, actor: string): Promise<{ prompt: string; processes: number }> {
  await host.send(actor, 'hello');
  const log: Event[] = await host.once();
  const stopped = log.find(({ event }) => event === 'dispatcher_stopped');
  const prompt = readFileSync(join(host.bus.root, 'prompt'), 'utf8');
  return { prompt, processes: Number(stopped?.['git_processes']) };
}

const SECTION = '# Who else is here\n\n';
const told = (host: Host): string => `tee ${join(host.bus.root, 'prompt')} >/dev/null; echo done`;

it('a prompt names the other actors, from profiles and host files, and starts no process for it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { lead: 'true' });
  host.declare({ lead: told(host) });
  await host.approve();
  const alone = await promptOf(host, 'lead');
  expect(alone.prompt).not.toContain(SECTION);

  await bus.host('back', { tester: { default: 'true', large: 'true' }, lead: 'true' });
  const profile = (name: string, more = ''): string =>
    `---\nname: ${name}\ndescription: What ${name} does.\n${more}---\n\nBe kind.\n`;
  host.edit({
    'local/actors/tester.md': profile('tester'),
    'local/actors/absent.md': profile('absent'),
    'local/actors/broken.md': 'no header',
  });
  const named = await promptOf(host, 'lead@front');
  expect(named.prompt).toContain(
    [
      `${SECTION}- tester, on back (default, large): "What tester does."`,
      '- absent, nobody serves it now, so mail for it waits: "What absent does."',
      '- broken, nobody serves it now, so mail for it waits',
      '',
      '# Where you are',
    ].join('\n'),
  );
  host.edit({ 'local/actors/lead.md': profile('lead', 'peers: none\n') });
  const without = await promptOf(host, 'lead@front');
  expect(without.prompt).toContain('Be kind.');
  expect(without.prompt).not.toContain(SECTION);
  // Where a pass takes long, git's settings are looked at once more.
  const fewest = async (first: number): Promise<number> =>
    Math.min(first, await again(), await again());
  const again = async (): Promise<number> => (await promptOf(host, 'lead@front')).processes;
  const withoutNames = await fewest(without.processes);
  host.edit({ 'local/actors/lead.md': profile('lead') });
  const withNames = await fewest(Infinity);
  expect(readFileSync(join(bus.root, 'prompt'), 'utf8')).not.toContain('\n- lead, ');
  expect(withNames).toBeLessThanOrEqual(withoutNames);
});
