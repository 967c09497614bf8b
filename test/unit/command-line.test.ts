import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { accountOf, agentOf } from '../../src/agents/agents.ts';
import { commandLine, namesVariable, programToFind, setBy } from '../../src/agents/command-line.ts';
import { interactive } from '../../src/agents/interactive.ts';
import { isIn, namedPaths } from '../../src/agents/named-paths.ts';
import { isAgentSetting } from '../../src/agents/settings.ts';
import { findClis } from '../../src/actions/service/plan.ts';
import { runnerIn } from '../../src/service/run.ts';
import { scratch } from '../support/bus.ts';
import { SPELLINGS, tools, UNQUOTED } from '../support/spellings.ts';

const run = promisify(execFile);

describe('words of a command line', () => {
  const values = (line: string): unknown => {
    const { words, whole } = commandLine(line);
    return whole ? words.map(({ value }) => value) : undefined;
  };
  it.each([
    [`a 'b c' "d e" f\\ g`, ['a', 'b c', 'd e', 'f g']],
    [`a"b"'c'`, ['abc']],
    [`"a\\"b" "c\\d"`, ['a"b', 'c\\d']],
    ['a $B "$C" \'$D\'', ['a', undefined, undefined, '$D']],
    ['a *', ['a', undefined]],
    ['\n a\\\nb \\\n c "d\\\ne"\n\n', ['ab', 'c', 'de']],
    [`a 'b\\\nc'`, ['a', 'b\\\nc']],
    ['a # b', undefined],
    ['a; b', undefined],
    ['a\nb', undefined],
    ['a > b', undefined],
    ['a "`b`"', undefined],
    ['a "$(b)"', undefined],
    [`a 'b`, undefined],
    ['', []],
  ])('%j', (line, words) => {
    expect(values(line)).toEqual(words);
  });
  it.each([
    ['a b | c "d e" && f', ['a', 'b'], ['c', 'd e', 'f']],
    ['a 2>b c', ['a'], ['b', 'c']],
    ['a$(b) c', [], ['b', 'c']],
    ['a "$(b)" c', ['a'], ['c']],
    [`a; b 'c`, ['a'], ['b']],
  ])('%j, of which only a shell can tell all', (line, first, rest) => {
    const { words, whole, ...more } = commandLine(line);
    expect(whole).toBe(false);
    expect(words.map(({ text }) => text)).toEqual(first);
    expect(more.rest.map(({ text }) => text)).toEqual(rest);
  });
});

describe('what a command line starts', () => {
  it.each([
    ['A=1 exec env B=2 claude -p', { A: '1', B: '2' }],
    ['A=1 env -i "B=2 3" claude', { B: '2 3' }],
    [
      'A=1 env -u A -uB --unset=C --unset D -- E=$F claude',
      { A: '', B: '', C: '', D: '', E: '$F' },
    ],
    ['nice -n 5 env A="b c"d claude', { A: 'b cd' }],
    [`A='$B'"c" command -- nice -5 claude`, { A: '$Bc' }],
  ])('%j has its variables set', (line, variables) => {
    const { start } = commandLine(line);
    expect(start?.name).toBe('claude');
    expect(Object.fromEntries(start?.variables ?? [])).toEqual(variables);
    expect(setBy(start!, 'OTHER')).toBe(line.includes('-i') ? '' : undefined);
  });
  it.each([
    '',
    'A=1',
    'A=1; claude',
    'A=$(pwd) claude',
    'exec -a x claude',
    'command -v claude',
    'env -S "claude -p"',
    'env A=1 -i claude',
    '2>log claude',
    'claude$(pwd) -p',
  ])('%j cannot be told', (line) => {
    expect(commandLine(line).start).toBeUndefined();
  });
  it.each([
    ['"A"=1 claude', 'A=1'],
    ['exec A=1 claude', 'A=1'],
    ['env exec claude', 'exec'],
    ['cd /x && claude', 'cd'],
    ['echo claude', 'echo'],
  ])('%j is another program', (line, name) => {
    expect(commandLine(line).start?.name).toBe(name);
  });
  it('says which variables it names', () => {
    expect(namesVariable('x --dir "${HERE}/y"', 'HERE')).toBe(true);
    expect(namesVariable('x $HERE_TOO', 'HERE')).toBe(false);
  });
});

describe('all who look at a command line see the same program in it', () => {
  const home = scratch();
  const folder = tools('claude');
  const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
  const env = { PATH, HOME: home, X: 'outside' };

  it.each(SPELLINGS)('in %j', async (spelling) => {
    const line = spelling.replace('%', 'claude');
    const said = (await run('/bin/sh', ['-c', line], { env })).stdout.trim();
    expect(said).toMatch(/^claude with X=/);
    expect(agentOf(line)?.name).toBe('claude');
    expect(accountOf(line)?.id).toBe('claude');
    expect(programToFind(commandLine(line), home)).toBe('claude');
    const { argv, program, instructed } = interactive(line, 'be brief', '/the/file');
    expect([program, instructed]).toEqual(['claude', true]);
    const [file = '', ...args] = argv;
    expect((await run(file, args, { env })).stdout.trim()).toBe(said);
    const tier = { name: 'default', cli: line, count: 1 };
    const found = await findClis(runnerIn(env), [{ name: 'w', tiers: [tier] }], env, home);
    expect(found).toEqual([
      { actor: 'w', tier: 'default', program: 'claude', path: join(folder, 'claude') },
    ]);
  });

  it.each(SPELLINGS)('in %j, by its path', (spelling) => {
    const line = spelling.replace('%', '/opt/my-tools/claude');
    expect(accountOf(line)).toMatchObject({ id: 'claude', agent: agentOf(line) });
    expect(programToFind(commandLine(line), home)).toBe('/opt/my-tools/claude');
    expect(interactive(line, '', '').program).toBe('/opt/my-tools/claude');
    const inBus = namedPaths(line, { transport: ['/opt/my-tools'], home }).absolute;
    expect(inBus.some((path) => isIn(path, '/opt/my-tools'))).toBe(true);
  });

  it.each(UNQUOTED)('in %j, below home', (spelling) => {
    for (const path of ['~/bus/claude', '"$HOME"/bus/claude', '${HOME}/bus/claude']) {
      const line = spelling.replace('%', () => path);
      expect(agentOf(line)?.name).toBe('claude');
      expect(programToFind(commandLine(line), '/home/a')).toBe('/home/a/bus/claude');
      expect(programToFind(commandLine(line))).toBeUndefined();
      expect(interactive(line, '', '')).toMatchObject({ instructed: true });
      const places = { transport: ['/home/a/bus'], home: '/home/a' };
      expect(namedPaths(line, places).absolute).toContain('/home/a/bus/claude');
    }
  });

  it.each(SPELLINGS)('in %j, relative to where it runs', (spelling) => {
    const line = spelling.replace('%', 'local/claude');
    const places = { transport: ['/home/a/bus'], home: '/home/a' };
    expect(namedPaths(line, places).relative).toContain('local/claude');
  });

  it.each(SPELLINGS)('in %j, where it brings a program that looks around itself', (spelling) => {
    expect(isAgentSetting('node_modules', spelling.replace('%', 'npx'))).toBe(true);
    expect(isAgentSetting('node_modules', spelling.replace('%', 'claude'))).toBe(false);
  });

  it.each(UNQUOTED)('in %j, that one with quotes within its name', (spelling) => {
    expect(isAgentSetting('node_modules', spelling.replace('%', 'n"p"x'))).toBe(true);
    expect(agentOf(spelling.replace('%', 'cl"au"de'))?.name).toBe('claude');
  });

  it('of a line with a PATH of its own nobody says where its program is', () => {
    for (const line of ['PATH=/opt/x:$PATH claude', 'env PATH=/opt/x claude', 'env -i claude']) {
      expect(agentOf(line)?.name).toBe('claude');
      expect(programToFind(commandLine(line), home)).toBeUndefined();
      expect(interactive(line, '', '').program).toBeUndefined();
    }
    expect(programToFind(commandLine('PATH=/x /opt/claude'), home)).toBe('/opt/claude');
  });
});
