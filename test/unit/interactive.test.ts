import { describe, expect, it } from 'vitest';
import { KNOWN_AGENTS } from '../../src/agents/agents.ts';
import { interactive } from '../../src/agents/interactive.ts';

const TEXT = '# You are\n"quoted" $(not run)';
const start = (command: string): readonly string[] => interactive(command, TEXT, '/the/file').argv;

describe('a command of a host file on a terminal', () => {
  it.each([
    ['claude', ['claude', '--append-system-prompt', TEXT]],
    ['claude -p --output-format json', ['claude', '--append-system-prompt', TEXT]],
    ['/opt/bin/claude -p', ['/opt/bin/claude', '--append-system-prompt', TEXT]],
    [
      'codex exec -',
      [
        'codex',
        '-c',
        'allow_login_shell=false',
        '-c',
        `developer_instructions=${JSON.stringify(TEXT)}`,
      ],
    ],
    ['gemini -i x | tee log', ['gemini', '-i', TEXT]],
    ['\nclaude \\\n  -p\n', ['claude', '--append-system-prompt', TEXT]],
  ])('%s', (command, argv) => {
    expect(start(command)).toEqual(argv);
  });
  it.each([
    ['claude -p --model opus', 'exec claude "$@" --model opus'],
    ['A="b c" claude --print', 'A="b c" exec claude "$@"'],
    ['A=1 claude -p --model opus | tee log', 'A=1 exec claude "$@"'],
    [
      'A=1 exec env -i -u B C=2 nice -n 5 claude -p',
      'A=1 exec env -i -u B C=2 nice -n 5 claude "$@"',
    ],
    ['~/bin/claude -p', 'exec ~/bin/claude "$@"'],
    ['"$HOME"/bin/claude -p', 'exec "$HOME"/bin/claude "$@"'],
    [
      'codex -m o3 exec --json --color never --add-dir "$DIR"',
      'exec codex "$@" -m o3 --add-dir "$DIR"',
    ],
    ['opencode run --format=json -m a/b', 'exec opencode "$@" -m a/b'],
    ['pi -p --mode json --model x', 'exec pi "$@" --model x'],
  ])('%s keeps what is not for a run without a terminal', (command, line) => {
    expect(start(command).slice(0, 4)).toEqual(['/bin/sh', '-c', line, 'sh']);
  });
  it.each(KNOWN_AGENTS.map(({ name, headless }) => [name, headless]))(
    'the command that we give for %s loses its headless flags and nothing else',
    (_, headless) => {
      const line = start(headless)[2] ?? '';
      expect(line.replace('exec ', '')).not.toMatch(
        /(^| )(-p|exec|run|-|--skip-git-repo-check)( |$)/,
      );
      for (const kept of headless.match(/--(sandbox|allowed-?tools|approval-mode) \S+/gi) ?? [])
        expect(line).toContain(kept);
    },
  );
  it.each([
    ['my-agent --x "$Y"', 'exec my-agent --x "$Y"'],
    ['my-agent -p | cat', 'my-agent -p | cat'],
    ['A=1 my-agent', 'A=1 my-agent'],
    ['exit 7', 'exit 7'],
  ])('%s, which we do not know, runs as it stands', (command, line) => {
    expect(interactive(command, TEXT, '/the/file')).toEqual({
      argv: ['/bin/sh', '-c', line],
      instructed: false,
    });
  });
});

describe('instructions', () => {
  const given = (text: string): string => interactive('claude', text, '/the/file').argv[2] ?? '';
  it('too long for an argument are named by their file', () => {
    expect(given('ü'.repeat(60_000))).toHaveLength(60_000);
    expect(given('ü'.repeat(65_000))).toContain('read the file /the/file');
  });
  it('cannot pass for an option, and hold no NUL', () => {
    expect(given('--yolo\0')).toBe('\n--yolo');
  });
});
