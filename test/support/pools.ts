import { Bus, type Actors, type Host } from './bus.ts';
import { git } from './git.ts';

const POOL = '---\nname: worker\ndescription: works\nserve: one\n---\n\nWork.\n';

interface Options {
  /** Options of the tier. */
  tier?: Record<string, string | number>;
  /** Other actors, all on the first host. */
  others?: Actors;
}

/** Hosts that serve a pool, whose profile was there before any message. */
export async function pool(
  cli: string | ((alias: string) => string) = 'sleep 0.2; echo done',
  hosts = 2,
  { tier = {}, others = {} }: Options = {},
): Promise<[Bus, Host, Host, ...Host[]]> {
  const bus = new Bus();
  const all: Host[] = [];
  for (const alias of ['ant', 'bee', 'cow', 'dog'].slice(0, hosts)) {
    const command = typeof cli === 'string' ? cli : cli(alias);
    const worker = { small: { cli: command, count: 4, retry_delay: '1s', ...tier } };
    all.push(await bus.host(alias, { worker, ...(all.length === 0 && others) }));
  }
  const [ant, bee, ...more] = all;
  if (ant === undefined || bee === undefined) throw new Error('no hosts');
  ant.edit({ 'local/actors/worker.md': POOL });
  for (const host of all) await host.once();
  return [bus, ant, bee, ...more];
}

/** The files of claims on the bus, each as `<actor>/<file>`. */
export function claims(bus: Bus): string[] {
  const listed = git(bus.hub, 'ls-tree', '-r', '--name-only', 'main', 'data/claims');
  return listed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('/').slice(-2).join('/'));
}

/** What the pool has answered. */
export function answers(bus: Bus): string[] {
  return bus
    .from('worker')
    .filter(({ message }) => message.interim !== true)
    .map(({ message }) => message.body.trim());
}

/** Path of a file of the claims on a message of the pool. */
export function claimPath(host: Host, relPath: string, name: string): string {
  return `data/claims/${host.channel()}/${relPath}/worker/${name}.md`;
}
