import { expect } from 'vitest';
import type { Bus, Host } from './bus.ts';
import { Persuaded } from './run-commands.ts';

interface TierOptions {
  workdir?: string;
  sandbox?: { net: string[]; write?: string[]; read?: string[]; hide?: string[] };
}

/** Which of some commands, by their names, succeed in a run of a tier with these options. */
export async function tried(
  { bus, host }: { bus: Bus; host: Host },
  commands: Record<string, string>,
  { sandbox, ...rest }: TierOptions,
): Promise<{ succeeded: string[]; cli: Persuaded }> {
  const cli = new Persuaded(bus, ...Object.values(commands));
  const written = sandbox && { ...sandbox, write: [cli.folder, ...(sandbox.write ?? [])] };
  host.declare({
    dev: { default: { cli: cli.cli, ...rest, ...(written && { sandbox: written }) } },
  });
  await host.approve();
  await host.send('dev', 'go on');
  const log = await host.once();
  expect(log.filter(({ event }) => /failed|error|parked/.test(event))).toEqual([]);
  const names = Object.keys(commands);
  return { cli, succeeded: names.filter((_, at) => cli.given[at]?.code === 0) };
}
