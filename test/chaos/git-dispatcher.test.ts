import { expect, it } from 'vitest';
import type { Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';
import { FaultyMachine } from './faulty-machine.ts';
import type { Kind, Which } from './git-shim.ts';
import { sample } from '../support/form.ts';

/** Only one fault in this many is tried; 1 for all of them. */
const STRIDE = Number(process.env['CHAOS_GIT_STRIDE'] ?? '7');

const COMMANDS: Which[] = ['+1', '@fetch', '@push', '@cat-file', '@rev-list', '@merge-base'];
const KINDS: Kind[] = ['killed', 'hung', 'said', 'silent', 'cut'];
const FAULTS = COMMANDS.flatMap((which) => KINDS.map((kind) => ({ which, kind })));

it.each(
  sample(FAULTS.filter((_, index) => index % STRIDE === 0).map((fault) => [fault.which, fault])),
)(
  'a running dispatcher whose git fails from now on (%s) goes on, and is not healthy while mail cannot move',
  { tags: 'sampled' },
  async (_, fault) => {
    const machine = await new FaultyMachine().open();
    const { host } = machine;
    const running = await machine.under(
      undefined,
      async () => {
        const started = host.start();
        await started.saw('tick');
        return started;
      },
      fault.kind === 'hung',
    );
    machine.harm(fault);
    ask(machine);
    const answered = (): boolean => machine.count('worker', 'answered') > 0;
    await until('an answer, or a verdict that says why there is none', async () => {
      return answered() || (await verdict(host)) !== 'healthy';
    });
    machine.heal();
    await until('the answer', answered);
    await until('a verdict that all is well', async () => (await verdict(host)) === 'healthy');
    expect((await running.stop()).code).toBe(0);
    expect([await machine.settle(), machine.count('worker', 'answered'), machine.runs]).toEqual([
      [],
      1,
      1,
    ]);
  },
);

it(
  'a dispatcher whose work fails inside reports it at once, and what it is',
  { tags: 'long' },
  async () => {
    const machine = await new FaultyMachine().open();
    const running = await machine.under(undefined, async () => {
      const started = machine.host.start();
      await started.saw('tick');
      return started;
    });
    machine.harm({ which: '@merge-base', kind: 'killed' });
    pushMany(machine);
    ask(machine);
    const reported = async (): Promise<boolean> =>
      /the dispatcher's work fails since .+: git merge-base failed/.test(
        await verdict(machine.host),
      );
    await until('the report', reported);
    machine.heal();
    await until('the answer', () => machine.count('worker', 'answered') === 1);
    await until(
      'a verdict that all is well',
      async () => (await verdict(machine.host)) === 'healthy',
    );
    await running.stop();
  },
);

/** More commits in one push than are read one by one, so that git is asked what they go on from. */
function pushMany({ host }: FaultyMachine): void {
  const { hub } = host.bus;
  const person = ['-c', 'user.name=x', '-c', 'user.email=x@x'];
  let tip = git(hub, 'rev-parse', 'main').trim();
  for (let n = 0; n < 20; n++)
    tip = git(hub, ...person, 'commit-tree', `${tip}^{tree}`, '-p', tip, '-m', 'empty').trim();
  git(hub, 'update-ref', 'refs/heads/main', tip);
}

/** A question that another machine has pushed. */
function ask({ host }: FaultyMachine): void {
  const head =
    'from: somebody\nto: worker\ntype: text\ntimestamp: 2026-10-10T12:00:00Z\nhost: back';
  host.edit({
    [`data/channels/${host.channel()}/2026/10/10/120000000Z-0000000a.md`]: `---\n${head}\n---\n\nwhat is it\n`,
  });
}

/** What `status` reports with a healthy git: the dispatcher's work, according to its own report. */
async function verdict(host: Host): Promise<string> {
  const { out } = await host.run('status', '--json');
  const { health } = JSON.parse(out) as { health: { ok: boolean; problems: string[] } };
  return health.ok ? 'healthy' : health.problems.join('; ');
}
