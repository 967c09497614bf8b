import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { withContext } from '../../src/actions/context.ts';
import { ownState } from '../../src/actions/page/own-state.ts';
import { acquire } from '../../src/state/lock.ts';
import { Bus } from '../support/bus.ts';

it('a run is not over on the page before the dispatcher has recorded what became of it', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { clerk: 'true' });
  const { env, dir } = host;
  const open = { transport: dir, note: () => undefined };
  await withContext({ env: { ...process.env, ...env }, cwd: dir }, open, async (context) => {
    const { runs, paths, transport, reader } = context;
    const tip = (await transport.tip()) ?? '';
    const [channel] = await reader.channels(tip);
    const run = { id: context.newId(), actor: 'clerk', channel: channel?.id ?? '', messages: [] };
    const cli = spawn('sleep', ['600']);
    await runs.begin(run, cli.pid ?? 0);
    const ended = once(cli, 'exit');
    cli.kill('SIGKILL');
    await ended;

    const dispatcher = await acquire(paths.root, 'dispatcher', { wait: 0 });
    expect((await ownState(context)).running).toMatchObject([{ id: run.id, outcome: 'running' }]);
    // Nobody continues the runs that a dead dispatcher left.
    if (dispatcher.ok) await dispatcher.release();
    expect((await ownState(context)).running).toEqual([]);
  });
});
