import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { MADE_BY } from '../../src/service/environment.ts';
import { acquire } from '../../src/state/lock.ts';
import { scratch } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { put, standIn } from '../support/service.ts';

/** A machine with a transport, a service of it, an entry for claude, and things of others beside each. */
async function machine(): Promise<{
  home: string;
  app: string;
  team: string;
  unit: string;
  state: string;
  asked: string;
  run: (...argv: string[]) => Promise<Ran>;
}> {
  const home = join(scratch(), 'my home');
  mkdirSync(home);
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
    name.startsWith('hub-'),
  );
  const environment = join(home, '.local/state/crosstalk', state, 'service.env');
  writeFileSync(environment, `${MADE_BY}, now.\nKEY="secret"\n`);
  const unit = join(units, 'crosstalk-here-0123456789ab.service');
  writeFileSync(
    unit,
    `WorkingDirectory=${team}\nEnvironmentFile=${environment}\nExecStart="x" "dispatch" "--supervised"\n`,
  );
  writeFileSync(join(units, 'crosstalk-by-hand-0123456789ab.service'), 'ExecStart=mine\n');
  const servers =
    '{"mcpServers":{"other":{"command":"x"},"crosstalk":{"command":"crosstalk","args":["mcp"]}}}';
  writeFileSync(join(app, '.mcp.json'), servers);
  return { home, app, team, unit, state: dirname(environment), asked, run };
}

it('uninstall removes what was installed and nothing else, and says what stays', async () => {
  const { home, app, team, unit, asked, run } = await machine();
  const key = join(home, '.ssh/crosstalk_ed25519');
  mkdirSync(dirname(key));
  writeFileSync(key, '');
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
  expect(out).toContain(`Stays: the key with which you sign, ${key}\n`);
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

it('uninstall removes no file that somebody has named in the unit by hand, and ours whatever it names', async () => {
  const { home, unit, state, run } = await machine();
  const mine = join(home, 'mine.env');
  writeFileSync(mine, 'TOKEN="mine"\n');
  for (const named of [`EnvironmentFile=${mine}\n`, `EnvironmentFile=-${mine}\n`, '']) {
    const ours = named === '' ? '' : `EnvironmentFile=${join(state, 'service.env')}\n`;
    writeFileSync(unit, `[Service]\n${named}${ours}ExecStart=nice "x" "dispatch" "--supervised"\n`);
    writeFileSync(join(state, 'service.env'), `${MADE_BY}, now.\nKEY="secret"\n`);
    mkdirSync(`${unit}.d`, { recursive: true });
    const { code, out, err } = await run('uninstall', '--yes');
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`Removed: ${join(state, 'service.env')}\n`);
    expect(out).toContain(`Stays: ${unit}.d\n`);
    expect(existsSync(unit)).toBe(false);
    expect(existsSync(join(state, 'service.env'))).toBe(false);
    expect(readFileSync(mine, 'utf8')).toContain('mine');
  }
});

it('uninstall leaves what is another program’s, although it has the name', async () => {
  const { home, unit, run } = await machine();
  const [claude, codex] = [join(home, '.claude.json'), join(home, '.codex/config.toml')];
  const theirs = '{"mcpServers":{"crosstalk":{"command":"npx","args":["-y","crosstalk-mcp"]}}}\n';
  mkdirSync(dirname(codex));
  writeFileSync(claude, theirs);
  writeFileSync(codex, '# mine\n[mcp_servers.crosstalk]\ncommand = "radio"\nargs = ["mcp"]\n');
  writeFileSync(unit, 'ExecStart=another program\n');
  const { code, out } = await run('uninstall', '--yes');
  expect(code).toBe(0);
  expect(out).toContain(`Stays: the entry crosstalk in ${claude}, which starts another program\n`);
  expect(out).toContain(`Stays: the entry crosstalk in ${codex}, which starts another program\n`);
  expect(out).toContain(`Stays: ${unit}, which does not start this program\n`);
  expect(readFileSync(claude, 'utf8')).toBe(theirs);
  expect(existsSync(unit)).toBe(true);
});

it('uninstall takes out an entry of ours in each form, and says what it could not write', async () => {
  const { home, app, state, run } = await machine();
  const [claude, codex] = [join(home, '.claude.json'), join(home, '.codex/config.toml')];
  mkdirSync(dirname(codex));
  const byPath = { command: '/usr/bin/node', args: ['/opt/it/bin/crosstalk.js', 'mcp'] };
  writeFileSync(claude, JSON.stringify({ projects: {}, mcpServers: { crosstalk: byPath } }));
  const toml = '[mcp_servers.crosstalk]\ncommand = "crosstalk"\nargs = ["mcp"]\n\n[tui]\n';
  writeFileSync(codex, toml);
  // Another program is writing there, and does not end.
  mkdirSync(`${codex}.lock`);
  const { code, out, err } = await run('uninstall', '--yes');
  expect(code).toBe(1);
  expect(err).toMatch(/^crosstalk uninstall: \S.*config\.toml was not written: .*\n$/);
  expect(out).not.toContain(`Removed: ${codex}`);
  expect(readFileSync(codex, 'utf8')).toBe(toml);
  expect(JSON.parse(readFileSync(claude, 'utf8'))).toEqual({ projects: {}, mcpServers: {} });
  expect(readFileSync(join(app, '.mcp.json'), 'utf8')).not.toContain('crosstalk');
  expect(existsSync(join(state, 'service.env'))).toBe(false);
});

it('uninstall is refused before anything is removed while a dispatcher runs that no service started', async () => {
  const { app, unit, state, run } = await machine();
  const before = readFileSync(join(app, '.mcp.json'), 'utf8');
  const lock = await acquire(state, 'dispatcher', { wait: 0 });
  if (!lock.ok) throw new Error('the lock is held');
  for (const options of [[], ['--state']]) {
    const { code, out, err } = await run('uninstall', '--yes', ...options);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(
      `process ${String(process.pid)}; end it, and say this again; nothing was`,
    );
  }
  expect(readFileSync(join(app, '.mcp.json'), 'utf8')).toBe(before);
  expect([existsSync(unit), existsSync(join(state, 'service.env'))]).toEqual([true, true]);
  await lock.release();
  expect((await run('uninstall', '--yes', '--state')).code).toBe(0);
});

it('uninstall --state removes the state also where links lead to it', async () => {
  const { home, state, run } = await machine();
  const [all, disk, one] = [dirname(state), join(home, 'disk'), join(home, 'one')];
  renameSync(state, one);
  symlinkSync(one, state);
  renameSync(all, disk);
  symlinkSync(disk, all);
  const { code, out, err } = await run('uninstall', '--state', '--yes');
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain(`Removed: ${all}\n`);
  for (const path of [disk, one]) expect(existsSync(path)).toBe(false);
  expect(readdirSync(dirname(all))).toEqual([]);
});

it('uninstall ends the service whose dispatcher runs, and takes its state', async () => {
  const home = join(scratch(), 'my home');
  mkdirSync(home);
  const { run } = standIn();
  const env = { HOME: home, XDG_STATE_HOME: '', XDG_DATA_HOME: '', CROSSTALK_STATE_DIR: '' };
  const ct = (...argv: string[]): Promise<Ran> =>
    run([process.execPath, resolve('bin/crosstalk.js'), ...argv], env);
  const team = join(home, 'team');
  const made = await ct('init', team, '--alias', 'here', '--cli', 'echo done', '--service');
  expect(made.code, made.err).toBe(0);
  const status = await ct('service', 'status', '--json', '--transport', team);
  const { pid } = JSON.parse(status.out) as { pid: number };
  const gone = await ct('uninstall', '--state', '--yes');
  expect(gone.code, gone.err).toBe(0);
  expect(() => process.kill(pid, 0)).toThrow();
  expect(readdirSync(join(home, '.local/state'))).toEqual([]);
  expect((await ct('uninstall', '--yes')).out).toMatch(/^Nothing of it is installed here\n/);
});
