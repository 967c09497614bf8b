import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  capture,
  environmentFile,
  parseEnvironmentFile,
  shownValue,
} from '../../src/service/environment.ts';
import {
  namesService,
  serviceName,
  plainAdvice,
  launchdPlist,
  plistStrings,
  servedByPlist,
  type ServiceSpec,
  servedBy,
  systemdUnit,
} from '../../src/service/files.ts';
import { stateOf } from '../../src/service/state.ts';
import { question, stepsOf, type Target } from '../../src/service/steps.ts';

const ODD = `/tmp/a b%h/"quoted" 'too' $HOME & <back\\slash>/ü`;

const spec = (transport = ODD): ServiceSpec => ({
  name: 'crosstalk-front-0123456789ab',
  alias: 'front',
  transport,
  command: [process.execPath, '/usr/bin/crosstalk', 'dispatch', '--transport', transport],
  envFile: join(transport, 'service.env'),
  stderr: join(transport, 'service.err'),
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

it.skipIf(!hasSystemd)(
  'systemd-analyze verify finds nothing in units of both kinds, however odd the paths (skipped unless systemd is here)',
  () => {
    const root = mkdtempSync(join(tmpdir(), 'units-'));
    const version = Number(/\d+/.exec(execFileSync('systemd-analyze', ['--version']).toString()));
    for (const user of [undefined, 'daemon']) {
      const file = join(root, `${spec().name}.service`);
      writeFileSync(file, systemdUnit(spec(), version, user));
      const scope = user === undefined ? '--user' : '--system';
      const env = { ...process.env, XDG_RUNTIME_DIR: root };
      const words = ['verify', '--man=no', scope, file];
      const found = spawnSync('systemd-analyze', words, { env, encoding: 'utf8' });
      expect([found.status, found.stderr, found.stdout]).toEqual([0, '', '']);
    }
  },
);

it('a unit names what it serves, and its restarts grow apart where systemd can do that', () => {
  expect(servedBy(systemdUnit(spec(), 252))).toBe(ODD);
  expect(systemdUnit(spec(), 252)).not.toContain('RestartSteps');
  expect(systemdUnit(spec(), 254)).toContain('RestartSteps=6\nRestartMaxDelaySec=120\n');
  expect(systemdUnit(spec(), 252)).not.toContain('User=');
  expect(systemdUnit(spec(), 252, 'anna')).toMatch(/^User=anna$/m);
});

it('the words of a unit’s command are quoted for systemd: blanks, quotes, specifiers, variables', () => {
  expect(systemdUnit(spec('/a b/%h/"q"/$x/\\'.slice(0, -2)), 252)).toContain(
    '"--transport" "/a b/%%h/\\"q\\"/$$x"',
  );
});

it('a path with a line feed or a blank at its end is refused in every kind of file', () => {
  for (const transport of ['/a\nb', '/a\rb', '/a\u0007b']) {
    expect(() => systemdUnit(spec(transport), 252)).toThrow('cannot stand in a unit file');
    expect(() => launchdPlist(spec(transport))).toThrow('cannot stand in a property list');
  }
  expect(() => systemdUnit(spec('/a '), 252)).toThrow('cannot stand in a unit file');
});

it.skipIf(spawnSync('plistutil', ['--version']).error !== undefined)(
  'plistutil reads a launchd agent, and finds its words as they were (skipped unless plistutil is here)',
  () => {
    const root = mkdtempSync(join(tmpdir(), 'plist-'));
    const at = (name: string): string => join(root, name);
    const text = launchdPlist(spec());
    writeFileSync(at('agent.plist'), text);
    execFileSync('plistutil', ['-f', 'bin', '-i', at('agent.plist'), '-o', at('binary')]);
    execFileSync('plistutil', ['-f', 'xml', '-i', at('binary'), '-o', at('again.plist')]);
    const read = readFileSync(at('again.plist'), 'utf8');
    expect(plistStrings(read)).toEqual(plistStrings(text));
    expect(plistStrings(read).slice(5, 11)).toEqual([join(ODD, 'service.env'), ...spec().command]);
    expect(read).toMatch(/<key>KeepAlive<\/key>\s*<true\/>/);
    expect(read).toMatch(/<key>Umask<\/key>\s*<integer>63</);
  },
);

it('a launchd agent reads its environment and becomes the dispatcher', () => {
  const root = mkdtempSync(join(tmpdir(), 'plist-'));
  const envFile = join(root, `an "odd" $name`);
  const variables = new Map([['GREETING', `it's "$HOME" \`x\` \\ 100%`]]);
  writeFileSync(envFile, environmentFile({ variables, named: new Set(), left: [] }, 'now'));
  const command = ['/bin/sh', '-c', 'printf "%s|%s" "$GREETING" "$1"', 'sh', 'a b'];
  const text = launchdPlist({ ...spec(root), envFile, command });
  expect(servedByPlist(text)).toBe(root);
  const [, program = '', ...args] = plistStrings(text)
    .slice(0, -3)
    .filter((one) => one !== root);
  expect(execFileSync(program, args, { env: {} }).toString()).toBe(
    `it's "$HOME" \`x\` \\ 100%|a b`,
  );
});

it('an environment file gives back what was captured, whatever the values', () => {
  const value = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .filter((text) => !/[\n\r\0]/.test(text));
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('PATH', 'LANG', 'LC_ALL', 'HOME', 'TZ'), value),
      (env) => {
        const captured = capture(env, []);
        const read = parseEnvironmentFile(environmentFile(captured, 'now'));
        expect(Object.fromEntries(read.variables)).toEqual({ ...env });
      },
    ),
  );
});

it('what a service needs is captured, keys are left with a word, and nothing else is taken', () => {
  const env = {
    PATH: '/usr/bin',
    http_proxy: 'http://anna:secret@proxy:3128',
    CODEX_HOME: '/home/anna/codex',
    ANTHROPIC_API_KEY: 'sk-1',
    SSH_AUTH_SOCK: '/tmp/ssh-x/agent.1',
    LESS: '-R',
    LC_TIME: 'two\nlines',
  };
  const captured = capture(env, ['LESS', 'MISSING']);
  expect([...captured.variables.keys()]).toEqual(['CODEX_HOME', 'PATH', 'http_proxy', 'LESS']);
  expect(captured.left.map(({ name }) => name)).toEqual([
    'ANTHROPIC_API_KEY',
    'LC_TIME',
    'SSH_AUTH_SOCK',
    'MISSING',
  ]);
  const shown = (name: string): string =>
    shownValue(captured, name, captured.variables.get(name) ?? '');
  expect([shown('http_proxy'), shown('LESS'), shown('PATH')]).toEqual([
    'http://(not shown)@proxy:3128',
    '(kept, not shown)',
    '/usr/bin',
  ]);
});

it('a service is named by host and transport, and recognised whatever the host', () => {
  const name = serviceName('laptop', 'team-bus-1f2e3d4c5b6a');
  expect(name).toBe('crosstalk-laptop-1f2e3d4c5b6a');
  expect(namesService(name, 'renamed-1f2e3d4c5b6a')).toBe(true);
  expect(namesService(name, 'team-bus-aaaaaaaaaaaa')).toBe(false);
});

it('systemd’s words about a service are read as they are: running, waiting, failed, unknown', () => {
  const said = (...facts: string[]): ReturnType<typeof stateOf> =>
    stateOf('systemd-user', facts.join('\n'));
  expect(
    said(
      'ActiveState=active',
      'SubState=running',
      'MainPID=12',
      'NRestarts=3',
      'UnitFileState=enabled',
    ),
  ).toEqual({ state: 'running', enabled: true, pid: 12, restarts: 3, exit_code: null });
  expect(
    said('ActiveState=activating', 'SubState=auto-restart', 'MainPID=0', 'ExecMainStatus=1'),
  ).toMatchObject({ state: 'waiting', pid: null, exit_code: 1 });
  expect(said('ActiveState=failed', 'ExecMainStatus=2')).toMatchObject({ state: 'failed' });
  expect(stateOf('systemd-user', undefined)).toMatchObject({ state: 'stopped', enabled: false });
});

it('launchd’s words about an agent are read as they are', () => {
  const running =
    'gui/501/x = {\n\tstate = running\n\truns = 2\n\tpid = 77\n\tlast exit code = 9\n}';
  expect(stateOf('launchd', running)).toEqual({
    state: 'running',
    enabled: true,
    pid: 77,
    restarts: 1,
    exit_code: 9,
  });
  expect(stateOf('launchd', running.replace('\tpid = 77\n', ''))).toMatchObject({
    state: 'waiting',
  });
  expect(stateOf('launchd', undefined)).toMatchObject({ state: 'stopped' });
});

it('a launchd agent is ended before it is begun anew, and asked about in its own domain', () => {
  const target: Target = {
    kind: 'launchd',
    name: 'crosstalk-a-1',
    file: '/Users/anna/Library/LaunchAgents/crosstalk-a-1.plist',
    domain: 'gui/501',
  };
  expect(stepsOf(target, 'install').map(({ argv }) => argv.slice(1, 3))).toEqual([
    ['bootout', 'gui/501/crosstalk-a-1'],
    ['enable', 'gui/501/crosstalk-a-1'],
    ['bootstrap', 'gui/501'],
  ]);
  expect(question(target)).toEqual(['launchctl', 'print', 'gui/501/crosstalk-a-1']);
});

it('without a service manager the advice is a line that a shell takes as it stands', () => {
  const root = join(mkdtempSync(join(tmpdir(), 'plain-')), `it's "here" $x`);
  mkdirSync(root);
  const command = ['/bin/sh', '-c', 'touch "$0" "$1"', 'made', `a'b`];
  const [line = ''] = plainAdvice({ ...spec(root), command })
    .split('\n')
    .filter((one) => one.startsWith('  cd '));
  execFileSync('/bin/sh', ['-c', line.trim()]);
  expect([existsSync(join(root, 'made')), existsSync(join(root, `a'b`))]).toEqual([true, true]);
});

it('a named variable that is not set any more keeps its value', () => {
  const before = { variables: new Map([['MY_KEY', 'kept']]), named: new Set(['MY_KEY']) };
  const { variables, left } = capture({ PATH: '/bin' }, [], before);
  expect([variables.get('MY_KEY'), left]).toEqual(['kept', []]);
  expect(capture({ MY_KEY: 'new' }, [], before).variables.get('MY_KEY')).toBe('new');
});
