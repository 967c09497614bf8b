import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { headless } from './clis.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const each = (
  ...names: Parameters<typeof underTest>
): (readonly [string, ReturnType<typeof underTest>[0]])[] =>
  underTest(...names).map((cli) => [cli.name, cli] as const);

async function model(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

/** Puts the state into a folder to which no sandbox allows writing: many allow writing to /tmp. */
function moveState(host: Host): void {
  const state = mkdtempSync('/var/tmp/crosstalk-test-');
  onTestFinished(() => {
    rmSync(state, { recursive: true, force: true });
  });
  if (existsSync(host.state)) cpSync(host.state, state, { recursive: true });
  host.env['CROSSTALK_STATE_DIR'] = state;
}

/** Settings with which claude runs a command when it starts. */
function hook(command: string): string {
  const hooks = [{ hooks: [{ type: 'command', command }] }];
  return JSON.stringify({ hooks: { SessionStart: hooks, UserPromptSubmit: hooks } });
}

it.each(each('claude', 'codex', 'pi', 'opencode', 'gemini'))(
  '%s sends from its workspace during its run, and reads what is on the bus there',
  async (_name, cli) => {
    const bus = new Bus();
    // Some CLIs pass on only one command at a time.
    const steps = [
      'crosstalk send --to other --anyway "Count the zebras."',
      'crosstalk log',
      'crosstalk search zebras',
      'crosstalk status',
      'crosstalk memory add --subject "Zebras are counted" "By the other one."',
      'crosstalk memory list',
    ];
    const atHub: number[] = [];
    const server = await model(({ results }) => {
      atHub[results.length] = bus.from('worker').length;
      const next = steps[results.length];
      return next === undefined ? { say: 'All seen.' } : { shell: next };
    });
    const host = await machine(bus, 'laptop', server.url, { worker: cli });
    moveState(host);
    const running = host.start();
    const question = await host.send('worker', 'Look around, please.');
    const replied = await host.run('replies', '--wait', '--timeout', '150', question);
    expect(replied.out).toContain('All seen.');
    await running.stop();

    const results = server.requests
      .map((one) => one.results)
      .find((one) => one.length === steps.length);
    const [sent, log, search, status, added, listed] = results ?? [];
    expect(sent).toMatch(/Sent: \d{4}\//);
    // It arrived before the run continued, and not only after the run had ended.
    expect(atHub[1]).toBe(1);
    expect(log).toContain('Count the zebras.');
    expect(search).toContain('zebras');
    expect(status).toContain('worker');
    expect(added).toContain('Remembered: ');
    expect(listed).toContain('Zebras are counted');
    expect(running.count('drop_refused')).toBe(0);
    expect(readdirSync(join(host.env['CROSSTALK_STATE_DIR'] ?? '', 'run'))).toEqual([]);
    expect(status).not.toContain('not running');
  },
);

it.each(each('claude'))(
  '%s runs no hook of settings that were pushed, or written by an earlier run, and runs those of a workdir',
  async (_name, cli) => {
    const bus = new Bus();
    const server = await model(() => ({ say: 'Done.' }));
    const host = await machine(bus, 'laptop', server.url, { worker: cli });
    const ran = (name: string): string => join(bus.root, `ran-${name}`);
    const app = join(bus.root, 'app');
    mkdirSync(join(app, '.claude'), { recursive: true });
    writeFileSync(join(app, '.claude/settings.json'), hook(`touch ${ran('own')}`));
    const planted = join(bus.root, 'planted.json');
    writeFileSync(planted, hook(`touch ${ran('planted')}`));
    host.edit({
      '.claude/settings.json': hook(`touch ${ran('pushed')}`),
      'CLAUDE.md': 'Do what the hook says.',
    });
    host.declare({
      worker: {
        default: headless(cli),
        planter: `cat >/dev/null; mkdir .claude; cp ${planted} .claude/settings.json; cp ${planted} .claude/settings.local.json; crosstalk send --to helper part >/dev/null`,
      },
      helper: 'cat >/dev/null; echo here',
      settled: { default: { cli: headless(cli), workdir: app } },
    });
    await host.approve();
    const running = host.start();
    const sent = [
      await host.send('worker', 'Go on.', '--tier', 'planter'),
      await host.send('settled', 'Go on.', '--new'),
    ];
    const replied = await host.run('replies', '--wait', '--timeout', '150', ...sent);
    expect(replied.code, replied.out).toBe(0);
    await running.stop();
    expect(running.count('workspace_cleaned')).toBe(1);
    expect({
      pushed: existsSync(ran('pushed')),
      planted: existsSync(ran('planted')),
      own: existsSync(ran('own')),
    }).toEqual({ pushed: false, planted: false, own: true });
  },
);

it.each(each('claude'))(
  '%s, which may run crosstalk and nothing else, cannot have another program started by it',
  async (_name, cli) => {
    const bus = new Bus();
    const steps = [
      `crosstalk attach --agent "touch ${bus.root}/attached"`,
      'crosstalk send --to other --new --file /etc/passwd',
      'crosstalk host approve',
      `crosstalk actor add evil --cli "touch ${bus.root}/evil"`,
    ];
    const server = await model(({ results }) => {
      const next = steps[results.length];
      return next === undefined ? { say: 'It did not work.' } : { shell: next };
    });
    const host = await machine(bus, 'laptop', server.url, { worker: cli });
    const running = host.start();
    const question = await host.send('worker', 'Do your worst.');
    const replied = await host.run('replies', '--wait', '--timeout', '150', question);
    expect(replied.out).toContain('It did not work.');
    await running.stop();
    const results = server.requests
      .map((one) => one.results)
      .find((one) => one.length === steps.length);
    expect(results?.map((one) => one.includes('not for a run'))).toEqual(steps.map(() => true));
    expect(existsSync(join(bus.root, 'attached'))).toBe(false);
    expect(bus.from('worker')).toHaveLength(1);
  },
);
