import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { plan } from '../../src/cli/completion/complete.ts';
import { matching, bashQuoted, unquoted } from '../../src/cli/completion/completed.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { Bus, scratch, type Held, type Host } from '../support/bus.ts';
import { command } from '../support/command.ts';

const TRICKY = `it's "so" $HOME \`x\``;
const CHANNEL = '11111111-1111-4111-8111-111111111111';

const channelFile = (name: string): string => `---\nname: ${JSON.stringify(name)}\n---\n`;

describe('the plan', () => {
  const values = (...words: string[]): string[] => {
    const chosen = plan(COMMANDS, words);
    const { source } = chosen;
    const found = source.kind === 'fixed' ? source.candidates : [];
    return matching(chosen, found).map(({ value }) => value);
  };
  it.each([
    [['send', '--to', ''], 'addresses'],
    [['send', '--to=wor'], 'addresses'],
    [['send', '--json', '--from', ''], 'actors'],
    [['open', '--actor', ''], 'actors'],
    [['explain', '1f2e3d4c', ''], 'actors'],
    [['actor', 'show', ''], 'actors'],
    [['send', '--channel', ''], 'channels'],
    [['channel', '--parent', ''], 'channels'],
    [['channel', 'create', 'x', '--parent', ''], 'channels'],
    [['log', '--follow', ''], 'channels'],
    [['memory', 'list', '--scope', ''], 'scopes'],
    [['status', '--host', ''], 'hosts'],
    [['send', '--tier', ''], 'tiers'],
    [['dlq', '--show', ''], 'deadLetters'],
    [['host', 'approve', ''], 'held'],
    [['host', 'approve', '1f2e3d4c5b6a', ''], 'held'],
    [['dlq', '--drop', ''], 'deadLetters'],
    [['memory', 'show', ''], 'memories'],
    [['memory', 'add', '--supersedes', ''], 'memories'],
    [['memory', 'forget', ''], 'memories'],
    [['compact', '--by', ''], 'actors'],
    [['thread', ''], 'messages'],
    [['wait', '1f2e3d4c', '--any', ''], 'messages'],
    [['replies', '--re', 'a,'], 'messages'],
  ])('%j can go on with %s', (words, of) => {
    expect(plan(COMMANDS, words).source).toMatchObject({ kind: 'live', of });
  });
  it.each([
    [['send', '--file', ''], 'files'],
    [['archive', '--bundle=', ''], 'fixed'],
    [['archive', '--bundle='], 'files'],
    [['archive', '--restore', ''], 'files'],
    [['log', '--transport', ''], 'folders'],
    [['memory', 'export', ''], 'folders'],
    [['memory', 'import', ''], 'folders'],
  ])('%j asks the shell for %s', (words, kind) => {
    expect(plan(COMMANDS, words).source.kind).toBe(kind);
  });
  it('offers commands and subcommands, and none that is hidden', () => {
    const offered = COMMANDS.filter(({ hidden }) => hidden !== true);
    const words = new Set(offered.map(({ name }) => name.split(' ')[0]!));
    expect(
      values('')
        .filter((word) => word !== 'help' && !word.startsWith('-'))
        .sort(),
    ).toEqual([...words].sort());
    expect(values('me')).toEqual(['memory']);
    expect(values('actor', '')).toEqual('list show add edit export import set remove'.split(' '));
    expect(values('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(values('web', 'token', '')).toEqual(['add', 'list', 'remove']);
    expect(values('help', 'rep')).toEqual(['reply']);
    expect(values('nonsense', '')).toEqual([]);
  });
  it('offers the options of a command that were not given, repeatable ones again', () => {
    expect(values('wait', '--any', '--a')).toEqual(['--all']);
    expect(values('memory', 'add', '--alias', 'x', '--al')).toEqual(['--alias', '--allow-secret']);
    expect(values('log', '--t')).toEqual(['--to', '--transport']);
    expect(values('open', '--j')).toEqual([]);
    expect(values('log', '-')).toContain('--follow');
    expect(values('send', '--', '--')).toEqual([]);
  });
  it('takes nothing for the value of an option that has none', () => {
    expect(values('send', '--new=')).toEqual([]);
    expect(values('send', '--description', '')).not.toEqual([]);
    expect(values('channel', 'create', 'x', '--description', '')).toEqual([]);
  });
  it('goes on in a list after its last comma, without what it holds', () => {
    const chosen = plan(COMMANDS, ['send', '--to=worker,he']);
    expect(chosen).toMatchObject({ before: '--to=worker,', typed: 'he', taken: ['worker'] });
    const chosenAgain = plan(COMMANDS, ['send', '--to', 'worker,']);
    const found = ['worker', 'helper'].map((value) => ({ value, description: '' }));
    expect(matching(chosenAgain, found).map(({ value }) => value)).toEqual(['worker,helper']);
  });
  it('knows where the transport is', () => {
    expect(plan(COMMANDS, ['log', '--transport', 'x', '']).transport).toBe('x');
    expect(plan(COMMANDS, ['log', '--transport=y', '--to', '']).transport).toBe('y');
  });
  it('drops what is not printable on one line, and flattens descriptions', () => {
    const hostile = ['a\nb', 'a\u001b[2J', 'a\tb', 'a\u202eb', 'a\u2028b', '', 'ab'];
    const found = hostile.map((value) => ({ value, description: 'one\n\u001b[2Jtwo\tthree' }));
    expect(matching(plan(COMMANDS, ['log', 'a']), found)).toEqual([
      { value: 'ab', description: 'one [2Jtwo three' },
    ]);
  });
  it('reads the quotes of a word in bash, and writes what bash reads as the value', () => {
    expect(unquoted(String.raw`a\ b"c d"'e\f'"`)).toEqual({
      text: String.raw`a bc de\f`,
      open: '"',
    });
    const bash = (word: string): string =>
      execFileSync('bash', ['--norc', '-c', `printf %s ${word}`], { encoding: 'utf8' });
    for (const value of [
      TRICKY,
      'a b',
      '~',
      '*?[x]{a,b}',
      'a;b|c&d>e<f',
      '#x',
      String.raw`\n`,
      'é!',
    ]) {
      expect(bash(bashQuoted(value, ''))).toBe(value);
      expect(bash(`'${bashQuoted(value, "'")}'`)).toBe(value);
      expect(unquoted(bashQuoted(value, '')).text).toBe(value);
      expect(unquoted(`"${bashQuoted(value, '"')}"`).text.replaceAll('\\!', '!')).toBe(value);
    }
  });
});

describe('completion', () => {
  let host: Host;
  let message: string;
  let memory: string;
  let env: NodeJS.ProcessEnv;

  const complete = async (...words: string[]): Promise<string[]> => {
    const { code, out, err } = await host.run('__complete', '--', ...words);
    expect([code, err]).toEqual([0, '']);
    return out
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t')[0]!);
  };

  beforeAll(async () => {
    const bus = new Bus();
    host = await bus.host('front', {
      helper: 'true',
      worker: { quick: 'true', thorough: 'true' },
      broken: { default: { cli: 'exit 7', attempts: 1 } },
    });
    host.edit({
      [`data/channels/${CHANNEL}/CHANNEL.md`]: channelFile('release notes'),
      [`data/channels/${CHANNEL.replaceAll('1', '2')}/CHANNEL.md`]: channelFile(TRICKY),
      [`data/channels/${CHANNEL.replaceAll('1', '3')}/CHANNEL.md`]: channelFile('bad\nname'),
      [`data/channels/${CHANNEL.replaceAll('1', '4')}/CHANNEL.md`]: channelFile('--bad'),
    });
    const suffix = (text: string): string => /-([0-9a-f]{12})\.md/.exec(text)?.[1] ?? '';
    await host.send('broken', 'first', '--channel', 'general');
    await host.once();
    message = suffix(await host.send('helper', 'second\nline', '--channel', 'general'));
    const noted = await host.run('memory', 'add', '--subject', 'Tuesdays', 'x');
    memory = suffix(noted.out);
    const bin = join(bus.root, 'bin');
    mkdirSync(bin);
    const program = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
    writeFileSync(join(bin, 'crosstalk'), `#!/bin/sh\nexec node '${program}' "$@"\n`, {
      mode: 0o755,
    });
    writeFileSync(join(host.dir, 'some file.txt'), '');
    env = {
      ...process.env,
      ...host.env,
      CROSSTALK_TRANSPORT: host.dir,
      PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
      TERM: 'xterm',
    };
  });

  it('offers what the transport and this machine have', async () => {
    const addresses = await complete('send', '--to', '');
    for (const name of ['helper', 'worker', 'helper@front', 'worker@front', 'all'])
      expect(addresses).toContain(name);
    expect(await complete('log', '')).toEqual([
      CHANNEL.replaceAll('1', '3'),
      CHANNEL.replaceAll('1', '4'),
      'general',
      TRICKY,
      'release notes',
    ]);
    expect(await complete('memory', 'list', '--scope', 'g')).toEqual(['general', 'global']);
    expect(await complete('open', '--actor', 'w')).toEqual(['worker']);
    expect(await complete('send', '--tier', '')).toEqual(['default', 'quick', 'thorough']);
    expect(await complete('dispatch', '--host', '')).toEqual(['front']);
    expect((await complete('thread', ''))[0]).toBe(message);
    expect(await complete('memory', 'show', '')).toEqual([memory]);
    const [letter = ''] = (await host.run('dlq')).out.split(' ');
    expect(await complete('dlq', '--retry', '')).toEqual([letter, 'all']);
  });
  it('describes a message on one line', async () => {
    const { out } = await host.run('__complete', '--', 'read', message);
    expect(out).toBe(`${message}\toperator: second line\n`);
  });
  it('offers nothing and says nothing where there is no transport, and asks no remote', async () => {
    for (const words of [['log', ''], ['log', '--transport', '/nonexistent', ''], [], ['x', '']]) {
      const ran = await command(['__complete', '--', ...words], { cwd: scratch() });
      expect([ran.code, ran.err]).toEqual([0, '']);
      if (words.length > 0) expect(ran.out).toBe('');
    }
    await host.pointTo('ssh://nowhere.invalid/x');
    expect(await complete('dispatch', '--host', '')).toEqual(['front']);
    await host.pointTo(host.bus.hub);
  });
  it('offers the digests of held changes that can be approved, and no text to decide by', async () => {
    const other = await new Bus().host('front', { worker: 'echo mine' });
    other.declare({ worker: 'echo sneaked', copy: `cat ${other.dir}/AGENTS.md` });
    await other.run('sync');
    const shown = await other.run('host', 'show', '--json');
    const { held } = JSON.parse(shown.out) as { held: Held[] };
    const [change] = held;
    const offered = await other.run('__complete', '--', 'host', 'approve', '');
    expect([offered.out, held.length]).toEqual([`${change!.digest}\tworker.default: cli\n`, 2]);
    const taken = await other.run('__complete', '--', 'host', 'approve', change!.digest, '');
    expect(taken.out).toBe('');
  });
  it('of a shell that is not known is wrong usage and lists those that are', async () => {
    const { code, out, err } = await host.run('completion', 'tcsh');
    expect([code, out]).toEqual([2, '']);
    expect(err).toBe(
      'crosstalk completion: no completion for "tcsh"; choose one of: bash, zsh, fish\n',
    );
  });
  it('scripts say in their first comment how they are installed', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, out } = await host.run('completion', shell);
      expect(code).toBe(0);
      expect(out.slice(0, 200)).toMatch(new RegExp(`^# Completion for ${shell}\\. `, 'm'));
      expect((await host.run('completion', '--help')).out).toMatch(new RegExp(`^${shell}: `, 'm'));
    }
  });

  /** The typed text, and the words that the command receives. */
  const TYPED: [typed: string, words: string[]][] = [
    ['log gen\t', ['log', 'general']],
    ['sen\t--to helper@\t', ['send', '--to', 'helper@front']],
    ['send --to=helper,worker@\t', ['send', '--to=helper,worker@front']],
    ['log rel\t', ['log', 'release notes']],
    ['send --channel release\\ n\t', ['send', '--channel', 'release notes']],
    ['send --channel=rel\t', ['send', '--channel=release notes']],
    ['send --channel="rel\t', ['send', '--channel=release notes']],
    ["send --channel 'release n\t", ['send', '--channel', 'release notes']],
    ['log it\t', ['log', TRICKY]],
    ['log "it\t', ['log', TRICKY]],
    ["log 'it\t", ['log', TRICKY]],
    ['send --file some\t', ['send', '--file', 'some file.txt']],
    ['send --file=some\t', ['send', '--file=some file.txt']],
    ['channel cr\t', ['channel', 'create']],
  ];
  const shown = (words: string[]): string => words.map((word) => `<${word}>`).join('');
  const lines = (out: string): string[] =>
    out.split(/[\r\n]+/).filter((line) => line.startsWith('<'));
  const ran = (shell: string, args: string[], input: string): string =>
    spawnSync(shell, args, { input, env, cwd: host.dir, encoding: 'utf8', timeout: 200_000 })
      .stdout;
  const missing = (shell: string): boolean => spawnSync(shell, ['--version']).status !== 0;

  it('works in bash, for ct as for crosstalk', { tags: 'long' }, () => {
    const script = [
      'source <(crosstalk completion bash)',
      'ct() { printf "<%s>" "$@"; echo; }',
      ...TYPED.map(([typed]) => `ct ${typed}`),
      '',
    ].join('\n');
    const out = ran('bash', ['--norc', '--noprofile', '-i'], script);
    expect(lines(out)).toEqual(TYPED.map(([, words]) => shown(words)));
    const listed = ran(
      'bash',
      ['--norc', '--noprofile'],
      'source <(crosstalk completion bash); COMP_WORDS=(crosstalk dispatch --ho) COMP_CWORD=2 ' +
        'COMP_LINE="crosstalk dispatch --ho" COMP_POINT=23; _crosstalk crosstalk --ho dispatch; ' +
        'printf "<%s>\\n" "${COMPREPLY[@]}"; complete -p crosstalk',
    );
    expect(lines(listed)).toEqual(['<--host>']);
    expect(listed).toContain('complete -o nosort -F _crosstalk crosstalk');
  });
  it.skipIf(missing('zsh'))('works in zsh (skipped where zsh is not installed)', () => {
    // Zsh reads keys only on a terminal; its module zpty creates one.
    const script = `
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; source <(crosstalk completion zsh)'
      zpty -w shell 'ct() { printf "<%s>" "$@"; print; print do""ne. }; ct; unsetopt beep'
      zpty -r shell text '*done.*'
      while IFS= read -r line; do
        zpty -w shell "$line"
        zpty -r shell text '*done.*'
        print -r -- "$text"
      done`;
    const typed = TYPED.map(([keys]) => `ct ${keys}\n`).join('');
    const out = ran('zsh', ['-f', '-c', script], typed);
    expect(lines(out)).toEqual(TYPED.map(([, words]) => shown(words)));
  });
  it.skipIf(missing('fish'))(
    'works in fish (skipped where fish is not installed)',
    { tags: 'long' },
    () => {
      const offered = (typed: string): string[] =>
        ran(
          'fish',
          ['--no-config', '-c', 'source (crosstalk completion fish | psub); complete -C (cat)'],
          typed,
        )
          .split('\n')
          .filter(Boolean)
          .map((line) => line.split('\t')[0]!);
      expect(offered('ct ')).toContain('send');
      expect(offered('crosstalk log ')).toContain(TRICKY);
      expect(offered('ct log "rel')).toEqual(['release notes']);
      expect(offered('ct log release\\ n')).toEqual(['release notes']);
      expect(offered('ct send --channel=rel')).toEqual(['--channel=release notes']);
      expect(offered('ct send --to helper,worker@')).toEqual(['helper,worker@front']);
      expect(offered('ct send --file some')).toEqual(['some file.txt']);
      expect(offered('ct send --file=some')).toEqual(['--file=some file.txt']);
      expect(offered('ct dispatch --ho')).toEqual(['--host']);
    },
  );
});
