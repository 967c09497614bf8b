import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, scratch, type Actors, type Host } from '../support/bus.ts';
import { sshMissing, startSshd } from '../support/servers.ts';
import { until } from '../support/wait.ts';

interface Check {
  check: string;
  ok: boolean;
  found: string;
}

/** What `doctor` says of one thing; it is content all the same. */
async function said(host: Host, check: string): Promise<string | undefined> {
  const { out, code } = await host.run('doctor', '--host', host.alias, '--json');
  const { checks } = JSON.parse(out) as { checks: Check[] };
  const found = checks.filter((one) => one.check === check);
  expect(found.filter(({ ok }) => !ok)).toEqual([]);
  // Whoever has no dispatcher running is told so, and nothing else.
  expect([code, checks.filter(({ ok }) => !ok).map((one) => one.check)]).toEqual([1, ['mail']]);
  expect((await host.run('status')).out).not.toContain(check);
  return found[0]?.found;
}

const machine = (actors: Actors): Promise<Host> => new Bus().host('front', actors);
const TASKS = 'who may give tasks';

it('doctor names the tiers without a sandbox that all who can push may give tasks to', async () => {
  const host = await machine({
    open: 'true',
    boxed: { default: { cli: 'true', sandbox: 'default' } },
    chosen: { default: { cli: 'true', only_from: ['anna'] } },
  });
  const found = await said(host, TASKS);
  expect(found).toContain('open (default); to keep them in: crosstalk actor set <name> sandbox=');
  expect(found).not.toMatch(/boxed|chosen/);
});

it(
  'doctor says nothing of who may give tasks where nobody else can, or nothing is open',
  { tags: 'long' },
  async () => {
    const closed = await machine({ boxed: { default: { cli: 'true', sandbox: 'default' } } });
    expect(await said(closed, TASKS)).toBeUndefined();
    const dir = join(scratch(), 'solo');
    const made = await closed.run('init', dir, '--cli', 'true');
    expect(made.code).toBe(0);
    const { out } = await closed.run('doctor', '--transport', dir);
    expect(out).not.toContain(TASKS);
  },
);

it.skipIf(process.getuid?.() !== 0)('doctor says that all that runs here is root’s', async () => {
  const host = await machine({ worker: 'true' });
  expect(await said(host, 'user')).toContain('you are root, and so is all that runs here');
});

it.skipIf(sshMissing() !== undefined)(
  'doctor names an ssh connection that runs without a sandbox could use',
  async () => {
    const host = await machine({ worker: 'true' });
    const socket = join(scratch(), 'master');
    const [program = '', ...args] = (await startSshd(scratch())).command.split(' ');
    const master = spawn(program, [...args, '-M', '-N', '-S', socket, '127.0.0.1'], {
      stdio: 'ignore',
    });
    onTestFinished(() => {
      master.kill();
    });
    await until('the master', () => existsSync(socket));
    const found = await said(host, 'shared ssh connections');
    expect(found).toContain(JSON.stringify(socket));
    const closed = await machine({ boxed: { default: { cli: 'true', sandbox: 'default' } } });
    expect(await said(closed, 'shared ssh connections')).toBeUndefined();
  },
);
