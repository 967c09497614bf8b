import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import { describe, expect, it } from 'vitest';
import { asAscii, asAsciiJson, visible } from '../../src/protocol/text/quoted.ts';
import { isIn, namedPaths } from '../../src/agents/named-paths.ts';

describe('text that a person decides by', () => {
  it('is printable ASCII whatever it holds, and comes back whole', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(asAsciiJson(text)).toMatch(/^"[\x20-\x7e]*"$/);
        expect(JSON.parse(asAsciiJson(text))).toBe(text);
        expect(JSON.parse(asAscii(JSON.stringify({ [text]: text }, undefined, 2)))).toEqual({
          [text]: text,
        });
      }),
    );
  });
  it.each([
    ['an escape sequence', '\u001b[8m'],
    ['C1', '\u009b8m'],
    ['a direction', '\u202e'],
    ['an isolate', '\u2066'],
    ['no width', '\u200b'],
    ['a mark of byte order', '\ufeff'],
    ['a tag', '\u{e0041}'],
    ['a variation', '\ufe0f'],
    ['a filler', '\u3164'],
    ['a line separator', '\u2028'],
  ])('%s is seen in either form', (_, character) => {
    for (const text of [asAsciiJson(`a${character}b`), visible(`a${character}b`)]) {
      expect(text).toMatch(/^"a(\\u[0-9a-f]{4})+(\[?8m)?b"$/);
      expect(JSON.parse(text)).toBe(`a${character}b`);
    }
  });
  it('a letter that looks like another is told apart where it decides', () => {
    expect(asAsciiJson('сlaude')).toBe('"\\u0441laude"');
    expect(visible('Jürgen 日本')).toBe('"Jürgen 日本"');
  });
});

describe('the paths that a command names', () => {
  const places = { transport: ['/home/a/bus'], home: '/home/a' };
  const inside = (command: string): boolean =>
    namedPaths(command, places).absolute.some((path) => isIn(path, '/home/a/bus'));
  it.each([
    'sh /home/a/bus/local/run.sh',
    'sh ~/bus/local/run.sh',
    'sh "$HOME/bus/local/run.sh"',
    'sh ${HOME}/bus/local/run.sh',
    '$CROSSTALK_TRANSPORT/local/run.sh',
    'sh "${CROSSTALK_TRANSPORT}/local/run.sh"',
    'sh ${CROSSTALK_TRANSPORT%/}/local/run.sh',
    `sh -c 'cd /home/a/bus && ./local/run.sh'`,
    `sh -c "sh -c 'exec ~/bus/x'"`,
    'cat | sh ~/bus/local/run.sh',
    'agent --config=/home/a/bus/local/agent.json',
    'PATH=/bin:/home/a/bus/local agent',
    'sh ~/other/../bus//./local/run.sh',
    'cd /home/a/bus; ls',
    'sh \\\n~/bus/local/run.sh',
    'cat; sh ~/b"us"/local/run.sh',
    `sh -c -- 'sh ~/bus/x'`,
    `eval 'sh ~/bus/x'`,
    `env -S 'sh ~/bus/x' y`,
    `env --split-string='sh ~/bus/x'`,
    'agent --note "$(cat ~/bus/x)"',
  ])('%s is in the transport', (command) => {
    expect(inside(command)).toBe(true);
  });
  it.each([
    'claude -p',
    'sh ~/bus-tools/run.sh',
    '/home/a/bus2/run',
    'sh ~/bus/../run.sh',
    'agent --say "look at ~/x"',
  ])('%s is not', (command) => {
    expect(inside(command)).toBe(false);
  });
  it('relative ones are those of its words, as they would be looked up', () => {
    expect(namedPaths('sh ./local/../local/run.sh -x', places).relative).toEqual([
      'sh',
      'local/run.sh',
      '-x',
    ]);
    expect(
      namedPaths('claude --append-system-prompt "see local/notes.md"', places).relative,
    ).toEqual(['claude', '--append-system-prompt']);
  });
});
