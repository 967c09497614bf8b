import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { put } from '../support/service.ts';

/** A machine with a transport, a service of it, an entry for claude, and things of others beside each. */
async function machine(): Promise<{
  home: string;
  app: string;
  team: string;
  unit: string;
  asked: string;
  run: (...argv: string[]) => Promise<Ran>;
}> {
  const home = scratch();
  const [app, bin, units] = ['app', 'bin', '.config/systemd/user'].map((name) =>
    join(home, name),
  ) as [string, string, string];
  for (const folder of [app, bin, units]) mkdirSync(folder, { recursive: true });
  const asked = join(home, 'asked');
  put(bin, 'systemctl', `echo "$@" >> '${asked}'`);
  const env = {
    HOME: home,
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    XDG_CONFIG_HOME: '',
    XDG_STATE_HOME: '',
    XDG_DATA_HOME: '',
    CROSSTALK_STATE_DIR: '',
    CLAUDE_CONFIG_DIR: '',
    CODEX_HOME: '',
    GEMINI_CLI_HOME: '',
  };
  const run = (...argv: string[]): Promise<Ran> => command(argv, { cwd: app, env });
  const [hub, team] = [join(home, 'hub.git'), join(home, 'team')];
  git(home, 'init', '--quiet', '--bare', hub);
  const made = await run('init', team, '--remote', hub, '--alias', 'here', '--cli', 'true');
  expect(made.code, made.err).toBe(0);
  const [state = ''] = readdirSync(join(home, '.local/state/crosstalk')).filter((name) =>
    name.startsWith('team-'),
  );
  const environment = join(home, '.local/state/crosstalk', state, 'service.env');
  writeFileSync(environment, 'KEY="secret"\n');
  const unit = join(units, 'crosstalk-here-0123456789ab.service');
  writeFileSync(
    unit,
    `WorkingDirectory=${team}\nEnvironmentFile=${environment}\nExecStart="x" "dispatch" "--supervised"\n`,
  );
  writeFileSync(join(units, 'crosstalk-by-hand-0123456789ab.service'), 'ExecStart=mine\n');
  const servers = '{"mcpServers":{"other":{"command":"x"},"crosstalk":{"command":"y"}}}';
  writeFileSync(join(app, '.mcp.json'), servers);
  return { home, app, team, unit, asked, run };
}

it('uninstall removes what was installed and nothing else, and says what stays', async () => {
  const { home, app, team, unit, asked, run } = await machine();
  const before = git(team, 'rev-parse', 'HEAD');
  const unasked = await run('uninstall');
  expect([unasked.code, unasked.err]).toEqual([
    2,
    'crosstalk uninstall: nothing is removed without a yes; look with --dry-run, and say so with --yes\n',
  ]);
  const shown = await run('uninstall', '--dry-run');
  expect(shown.out).toContain(`Would be removed: ${unit}\n`);
  expect(existsSync(unit)).toBe(true);
  const { code, out, err } = await run('uninstall', '--yes');
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain(`Removed: ${unit}\n`);
  expect(out).toContain(
    `Removed: ${join(app, '.mcp.json')} (the entry of crosstalk for Claude Code)`,
  );
  expect(out).toContain('Stays: every transport, which is a git repository\n');
  expect(out).toContain('Stays: the program; remove it with: npm uninstall --global @cordfuse/');
  expect(readFileSync(asked, 'utf8')).toContain('--user disable --now crosstalk-here-0123456789ab');
  expect(readdirSync(join(home, '.config/systemd/user'))).toEqual([
    'crosstalk-by-hand-0123456789ab.service',
  ]);
  expect(JSON.parse(readFileSync(join(app, '.mcp.json'), 'utf8'))).toEqual({
    mcpServers: { other: { command: 'x' } },
  });
  expect(readdirSync(join(home, '.local/state')).sort()).toEqual(['crosstalk']);
  expect(git(team, 'rev-parse', 'HEAD')).toBe(before);
  const again = await run('uninstall', '--yes');
  expect(again.out).toMatch(/^Nothing of it is installed here\nStays: /);
});

it(
  'uninstall --state keeps mail that is not on the bus yet, and then removes all state',
  { tags: 'long' },
  async () => {
    const { home, team, unit, run } = await machine();
    const hub = join(home, 'hub.git');
    renameSync(hub, `${hub}.away`);
    const sent = await run('send', '--transport', team, '--to', 'concierge', 'hello');
    expect(sent.out).toContain('Queued');
    const refused = await run('uninstall', '--state', '--yes');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('holds mail that is not on the bus yet (1)');
    expect(existsSync(unit)).toBe(true);
    renameSync(`${hub}.away`, hub);
    expect((await run('sync', '--transport', team)).code).toBe(0);
    const { code, out } = await run('uninstall', '--state', '--yes');
    expect(code, out).toBe(0);
    expect(out).toContain(`Removed: ${join(home, '.local/state/crosstalk')}\n`);
    expect(readdirSync(join(home, '.local/state'))).toEqual([]);
    expect(existsSync(join(team, 'hosts/here.md'))).toBe(true);
  },
);
