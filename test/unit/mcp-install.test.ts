import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffOf } from '../../src/mcp/install/plan.ts';
import { editJsonc } from '../../src/mcp/install/edit-jsonc.ts';
import { editToml } from '../../src/mcp/install/clients.ts';
import { parseJsonc, valueOf } from '../../src/protocol/text/jsonc.ts';
import { parseToml } from '../../src/protocol/text/toml.ts';

const value = { command: 'crosstalk', args: ['mcp'] };
const set = (text: string): string => editJsonc(text, [{ path: ['servers', 'crosstalk'], value }]);
const read = (text: string): unknown => {
  const node = parseJsonc(text);
  return node && valueOf(node);
};

describe('settings in JSON', () => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((any) => any as unknown);
  const members = fc.dictionary(
    fc.string().filter((key) => key !== '__proto__' && key !== 'servers'),
    json,
    { maxKeys: 4 },
  );
  const spaced = fc.constantFrom(undefined, 1, 2, 4, '\t');

  it('what is set is there, everything else is as it was, and a second time changes nothing', () => {
    fc.assert(
      fc.property(members, fc.option(members), spaced, fc.boolean(), (others, there, by, crlf) => {
        const before = { ...others, ...(there !== null && { servers: there }) };
        const plain = JSON.stringify(before, undefined, by);
        const text = crlf ? plain.replaceAll('\n', '\r\n') : plain;
        const edited = set(text);
        const expected = { ...before, servers: { ...there, crosstalk: value } };
        expect(JSON.parse(edited)).toEqual(JSON.parse(JSON.stringify(expected)));
        expect(set(edited)).toBe(edited);
        expect(crlf && plain.includes('\n') ? /[^\r]\n/.test(edited) : edited.includes('\r')).toBe(
          false,
        );
      }),
    );
  });
  it.each([
    ['nothing', '', '{\n  "servers": {\n'],
    ['blanks', ' \n', ' \n{\n  "servers": {\n'],
    ['an empty object', '{}', '{\n  "servers": {\n'],
    ['a comment in an object', '{\n  // mine\n}\n', '{\n  // mine\n  "servers": {\n'],
    ['a byte order mark', '\ufeff{}', '\ufeff{\n  "servers": {\n'],
    [
      'a comment behind the last member',
      '{\n  "a": 1 // one, {"b": 2}\n}\n',
      '{\n  "a": 1, // one, {"b": 2}\n  "servers": {\n',
    ],
    ['a trailing comma', '{\n\t"a": 1, // one\n}\n', '{\n\t"a": 1, // one\n\t"servers": {\n\t\t"'],
    ['a block comment', '{\n "a": 1 /* one */\n}', '{\n "a": 1, /* one */\n "servers": {\n  "'],
    ['one line', '{"a": 1}', '{"a": 1, "servers": {"crosstalk":{'],
    ['one line, trailing comma', '{"a": 1,}', '{"a": 1, "servers": {"crosstalk":{'],
  ])('is added to %s, and stays readable', (_, text, beginning) => {
    const edited = set(text);
    expect(edited.startsWith(beginning), edited).toBe(true);
    expect(read(edited)).toMatchObject({ servers: { crosstalk: value } });
    expect(set(edited)).toBe(edited);
  });
  it('a trailing comma stays one', () => {
    expect(set('{\n  "a": 1,\n}')).toMatch(/\n {2}\},\n\}$/);
  });
  it('only the value that differs is replaced', () => {
    const text = '{ /* a */ "servers": { "crosstalk": { "command": "x" /* b */ } /* c */ } }';
    const edited = editJsonc(text, [{ path: ['servers', 'crosstalk', 'command'], value: 'y' }]);
    expect(edited).toBe(text.replace('"x"', '"y"'));
  });
  it.each([
    ['{"a": 1', 'line 1: expected a comma or }, seen ""'],
    ['{\n  a: 1\n}', 'line 2: expected a name in double quotes, seen "a: 1"'],
    ['{"a" 1}', 'expected a colon'],
    ['{"a": 1} x', 'expected the end'],
    ['{"a": 01}', 'expected a comma or }'],
    ['{"a": "\n"}', 'expected a value'],
    ['{"a": 1 "b": 2}', 'expected a comma or }'],
    ['{,}', 'expected a name'],
    ['[1]', 'the file is no object'],
    ['{"servers": []}', 'servers is no object'],
    [`{"a": ${'['.repeat(200)}`, 'expected less nesting'],
  ])('%j is refused: %s', (text, problem) => {
    expect(() => set(text)).toThrow(problem);
  });
});

const entry = { command: 'crosstalk', args: ['mcp'], env: { A: 'a "b" \\' } };
const setToml = (text: string): string => editToml(text, ['mcp_servers', 'crosstalk'], entry);
const written = [
  '[mcp_servers.crosstalk]',
  'command = "crosstalk"',
  'args = ["mcp"]',
  String.raw`env = { A = "a \"b\" \\" }`,
  '',
].join('\n');

describe('settings in TOML', () => {
  const full = [
    '# my settings',
    'model = "gpt" # the good one',
    'notify = ["a", # first',
    '  "[mcp_servers.crosstalk]",',
    ']',
    'long = """',
    '[mcp_servers.crosstalk]',
    '"""',
    "raw = '''",
    '[not.a.table]',
    "'''",
    'at = 2026-01-01T10:00:00Z',
    'hex = 0xff',
    'some = { "x y" = 1, b = [ { c = true } ] }',
    '',
    '[projects."/home/anna"]',
    'trust_level = "trusted"',
    '',
    '[[things]]',
    'name = "one"',
    '',
    '[mcp_servers.other] # keep',
    'command = "x"',
  ].join('\n');

  it.each([
    ['an empty file', ''],
    ['a file with everything', `${full}\n`],
    ['a file with Windows line ends', `${full}\n`.replaceAll('\n', '\r\n')],
  ])('the table is added at the end of %s, which stays as it is', (_, text) => {
    const edited = setToml(text);
    const eol = text.includes('\r') ? '\r\n' : '\n';
    expect(edited).toBe(`${text}${text === '' ? '' : eol}${written.replaceAll('\n', eol)}`);
    expect(setToml(edited)).toBe(edited);
  });
  it('a missing line end at the end of the file is added', () => {
    expect(setToml('a = 1')).toBe(`a = 1\n\n${written}`);
  });
  it('of a table that is there, what differs is replaced and everything else stays', () => {
    const text = [
      '[mcp_servers.crosstalk] # mine',
      'tool_timeout_sec = 600 # long',
      'command = "/old/node" # was here',
      'env = { B = "kept" }',
      '# the end',
      '[mcp_servers.other]',
      'command = "x"',
      '',
    ].join('\n');
    const edited = setToml(text);
    expect(edited).toBe(
      text
        .replace('"/old/node"', '"crosstalk"')
        .replace(
          '{ B = "kept" }',
          String.raw`{ B = "kept", A = "a \"b\" \\" }` + '\nargs = ["mcp"]',
        ),
    );
    expect(setToml(edited)).toBe(edited);
  });
  it('an environment in a table of its own is edited there', () => {
    const text = '[mcp_servers.crosstalk]\ncommand = "x"\n[mcp_servers.crosstalk.env]\nB = "b"\n';
    const edited = setToml(text);
    expect(edited).toBe(
      `[mcp_servers.crosstalk]\ncommand = "crosstalk"\nargs = ["mcp"]\n[mcp_servers.crosstalk.env]\nB = "b"\n${String.raw`A = "a \"b\" \\"`}\n`,
    );
    expect(setToml(edited)).toBe(edited);
  });
  it.each([
    ['mcp_servers = { other = { command = "x" } }\n'],
    ['[mcp_servers]\ncrosstalk = { command = "x" }\n'],
    ['[mcp_servers]\ncrosstalk.command = "x"\n'],
    ['mcp_servers.crosstalk.command = "x"\n'],
    ['[[mcp_servers.crosstalk]]\ncommand = "x"\n'],
    ['[[mcp_servers]]\nname = "x"\n'],
  ])('%j is refused, as another form of the same table', (text) => {
    expect(() => setToml(text)).toThrow(
      'mcp_servers.crosstalk is written there in another form than a table of its own',
    );
  });
  it.each([
    ['a = \n', 'line 1: expected a value'],
    ['a = 1 b = 2\n', 'expected the end of the line'],
    ['\n[a\nb = 1\n', 'line 2: expected ], seen ""'],
    ['a = "x\n', 'expected a value'],
    ['a = [1, 2\n', 'expected a comma or ]'],
    ['= 1\n', 'expected a name'],
    ['a = """x\n', 'expected a value'],
    ['{"mcp_servers": {}}\n', 'expected a name'],
  ])('%j is refused: %s', (text, problem) => {
    expect(() => setToml(text)).toThrow(problem);
  });
  it('strings are read with their escapes', () => {
    const text = String.raw`a = "\u00e9\n\"" ` + `\nb = 'c:\\x'\nc = ""\nd = ''\n`;
    const values = parseToml(text).map((one) => one.kind === 'pair' && one.value.value);
    expect(values).toEqual(['é\n"', 'c:\\x', '', '']);
  });
});

describe('the change that is shown', () => {
  it('names lines that go and come, with three around them', () => {
    const before = 'a\nb\nc\nd\ne\nf\ng\nh\n';
    expect(diffOf(before, before.replace('e\n', 'E\nE2\n'))).toBe(
      '@@ -2,7 +2,8 @@\n b\n c\n d\n-e\n+E\n+E2\n f\n g\n h',
    );
  });
  it('is empty when nothing changes', () => {
    expect(diffOf('a\n', 'a\n')).toBe('');
  });
  it('of a new file is all of it', () => {
    expect(diffOf('', 'a\nb\n')).toBe('@@ -0,0 +1,2 @@\n+a\n+b');
  });
});
