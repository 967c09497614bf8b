import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, scratch } from '../support/bus.ts';
import { exists } from '../support/process.ts';
import { lifeOfAService, put, standIn } from '../support/service.ts';
import { until } from '../support/wait.ts';

const PONG = 'cat > /dev/null; echo pong';

it(
  'a service answers, comes back after a kill, makes room for a new version, stops, and leaves the mail',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    await lifeOfAService(standIn(), bus, await bus.host('front', { worker: PONG }));
  },
);

it('nothing is written by a dry run, nor without a yes', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const { env } = standIn();
  const install = ['service', 'install', '--host', 'front', '--dry-run'];
  const dry = await host.runWith({ env }, ...install);
  const file = /^File (\S+\.service) \(mode 644\)$/m.exec(dry.out)?.[1] ?? '';
  expect(dry.code).toBe(0);
  expect(dry.out).toContain(`  ExecStart="${process.execPath}" "`);
  expect(dry.out).toContain('  systemctl --user enable crosstalk-front-');
  expect(dry.out).not.toContain('--shared-state');
  const shared = await host.runWith({ env }, ...install, '--shared-state');
  expect(shared.out).toMatch(/^ {2}ExecStart=.* "--shared-state"$/m);
  const unasked = await host.runWith({ env }, 'service', 'install', '--host', 'front');
  expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining('say so with --yes')]);
  for (const path of [file, join(host.state, 'service.env')])
    expect(() => statSync(path)).toThrow('ENOENT');
});

it(
  'keys are taken along by name alone, kept in a file of one’s own, and never shown',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: PONG });
    const { env } = standIn();
    const keys = { ...env, ANTHROPIC_API_KEY: 'sk-one', MY_SETTING: 'x "y" $z' };
    const install = (more: NodeJS.ProcessEnv, ...options: string[]): ReturnType<typeof host.run> =>
      host.runWith(
        { env: { ...more } },
        ...['service', 'install', '--host', 'front', '--yes', '--no-start', ...options],
      );
    const without = await install(keys);
    expect(without.out).toContain('ANTHROPIC_API_KEY: a key; take it along with: --env');
    const file = join(host.state, 'service.env');
    expect(readFileSync(file, 'utf8')).not.toContain('sk-one');

    const named = await install(keys, '--env', 'ANTHROPIC_API_KEY', '--env', 'MY_SETTING');
    expect(named.out + named.err).not.toMatch(/sk-one|x \\?"y/);
    expect(readFileSync(file, 'utf8')).toContain('ANTHROPIC_API_KEY="sk-one"');
    expect(statSync(file).mode & 0o777).toBe(0o600);

    // Another installation, from a shell without these variables, keeps the named ones.
    expect((await install(env)).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('MY_SETTING="x \\"y\\" \\$z"');
    expect((await install(env, '--env', 'KEY=value')).err).toContain(
      'takes the name of a variable',
    );
  },
);

it(
  'an agent CLI that only the operator’s own shell finds is named by install and by doctor',
  { tags: 'slow' },
  async () => {
    const host = await new Bus().host('front', { worker: 'my-agent -p' });
    const { env } = standIn();
    const tools = join(scratch(), 'tools');
    mkdirSync(tools);
    put(tools, 'my-agent', 'cat > /dev/null; echo pong');
    const installed = await host.runWith(
      { env },
      ...['service', 'install', '--host', 'front', '--yes'],
    );
    expect(installed.err).toContain('my-agent, which worker (default) runs, is not on this PATH');

    const mine = { ...env, PATH: `${tools}:${env['PATH'] ?? ''}` };
    const ill = await host.runWith({ env: mine }, 'doctor', '--host', 'front');
    expect(ill.out).toContain('ok    cli of worker (default): my-agent is there');
    expect(ill.out).toContain(
      `broken cli of worker (default) in the service: my-agent is not on the PATH of the service, though it is on yours: ${tools}/my-agent`,
    );
    expect(ill.out).toContain(`PATH of the service: out of date: it lacks ${tools} of yours`);

    await host.runWith({ env: mine }, 'service', 'install', '--host', 'front', '--yes');
    const well = await host.runWith({ env }, 'doctor', '--host', 'front');
    expect(well.out).toContain(`ok    cli of worker (default) in the service: ${tools}/my-agent`);
    expect(well.out).toMatch(/^ok {4}service: crosstalk-front-\w+ is running$/m);
  },
);

it('a service is not started beside a dispatcher that runs, and says whose process that is', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const { env } = standIn();
  const running = host.start();
  await running.saw('tick');
  const pid = String(process.pid);
  const made = await host.runWith({ env }, 'service', 'install', '--host', 'front', '--yes');
  expect(made.out).toContain(`not started: a dispatcher runs here already, process ${pid}`);
  const refused = await host.runWith({ env }, 'service', 'start');
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(`process ${pid}`)]);
  await running.stop();
  const started = await host.runWith({ env }, 'service', 'start');
  const service = Number(/process (\d+)$/m.exec(started.out)?.[1]);
  expect(await exists(service)).toBe(true);
  await host.runWith({ env }, 'service', 'stop');
  await until('the end of the process', async () => !(await exists(service)));
});

it('a service of another clone of the transport is left alone', { tags: 'long' }, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: PONG });
  const { env } = standIn();
  const install = ['service', 'install', '--host', 'front', '--yes', '--no-start'];
  const made = await host.runWith({ env }, ...install);
  const file = /^File (\S+\.service)/m.exec(made.out)?.[1] ?? '';
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(host.dir, '/somewhere/else'));
  const refused = await host.runWith({ env }, ...install);
  expect(refused.err).toContain('serves another clone of this transport, /somewhere/else');
  expect((await host.runWith({ env }, 'service', 'status')).err).toContain(
    'no service is installed',
  );
});

it('where no service manager is known, install says which command to keep running', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const bin = scratch();
  put(bin, 'systemctl', 'echo "not booted" >&2; exit 1');
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  const ran = await host.runWith({ env }, 'service', 'install', '--host', 'front', '--yes');
  // If systemd runs this machine, the only output is its refusal.
  expect(ran.code).toBe(1);
  expect(ran.out + ran.err).toMatch(
    /exec \S+ \S+crosstalk\.js dispatch --supervised|log in as this user/,
  );
});
