import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseJsonc, valueOf } from '../../src/protocol/text/jsonc.ts';
import { parseToml } from '../../src/protocol/text/toml.ts';
import { scratch } from '../support/bus.ts';
import { command, type Ran, type RunOptions } from '../support/command.ts';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** Another program with the same name. */
let another: string;
let transport: string;
let home: string;
let folder: string;
beforeAll(async () => {
  another = scratch();
  writeFileSync(join(another, 'crosstalk'), '#!/bin/sh\n', { mode: 0o755 });
  const root = scratch();
  transport = join(root, 'team');
  const made = await command(['init', transport, '--alias', 'here', '--cli', 'true'], {
    cwd: root,
  });
  expect(made.code, made.err).toBe(0);
});
beforeEach(() => {
  home = scratch();
  folder = scratch();
});

/** Variables that tell clients where their settings are. */
const OWN_PLACES = { CLAUDE_CONFIG_DIR: '', CODEX_HOME: '', GEMINI_CLI_HOME: '' };

/** The PATH with a folder at its beginning. */
const pathWith = (dir: string): string => `${dir}:${process.env['PATH'] ?? ''}`;

function install(
  client: string,
  argv: string[] = ['--yes'],
  options: Partial<RunOptions> = {},
): Promise<Ran> {
  return command(['mcp', '--install', client, '--transport', transport, ...argv], {
    cwd: folder,
    ...options,
    env: { HOME: home, ...OWN_PLACES, PATH: pathWith(another), ...options.env },
  });
}

/** Needs no transport. */
function uninstall(client: string, argv: string[] = ['--yes']): Promise<Ran> {
  return command(['mcp', '--uninstall', client, ...argv], {
    cwd: folder,
    env: { HOME: home, ...OWN_PLACES, PATH: pathWith(another) },
  });
}

const env = (): Record<string, string> => ({ CROSSTALK_TRANSPORT: transport });
const json = (file: string): unknown => {
  const node = parseJsonc(readFileSync(file, 'utf8'));
  return node && valueOf(node);
};
const toml = (file: string): unknown =>
  parseToml(readFileSync(file, 'utf8')).map((one) =>
    one.kind === 'pair' ? [one.path.join('.'), one.value.value] : one.path.join('.'),
  );

/**
 * Where each client's settings are, by default and with the other option, and the entry to expect.
 */
const clients = [
  {
    name: 'claude',
    file: () => join(folder, '.mcp.json'),
    other: ['--user', () => join(home, '.claude.json')],
    key: 'mcpServers',
    entry: () => ({ type: 'stdio', command: process.execPath, args: [bin, 'mcp'], env: env() }),
  },
  {
    name: 'cursor',
    file: () => join(folder, '.cursor/mcp.json'),
    other: ['--user', () => join(home, '.cursor/mcp.json')],
    key: 'mcpServers',
    entry: () => ({ type: 'stdio', command: process.execPath, args: [bin, 'mcp'], env: env() }),
  },
  {
    name: 'gemini',
    file: () => join(folder, '.gemini/settings.json'),
    other: ['--user', () => join(home, '.gemini/settings.json')],
    key: 'mcpServers',
    entry: () => ({ command: process.execPath, args: [bin, 'mcp'], env: env() }),
  },
  {
    name: 'opencode',
    file: () => join(folder, 'opencode.json'),
    other: ['--user', () => join(home, '.config/opencode/opencode.json')],
    key: 'mcp',
    entry: () => ({
      type: 'local',
      command: [process.execPath, bin, 'mcp'],
      environment: env(),
      enabled: true,
    }),
  },
  {
    name: 'vscode',
    file: () => join(folder, '.vscode/mcp.json'),
    other: [
      '--user',
      () =>
        join(
          home,
          process.platform === 'darwin' ? 'Library/Application Support/Code' : '.config/Code',
          'User/mcp.json',
        ),
    ],
    key: 'servers',
    entry: () => ({ type: 'stdio', command: process.execPath, args: [bin, 'mcp'], env: env() }),
  },
] as const;

function put(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

describe.each(clients)('for $name', ({ name, file, other, key, entry }) => {
  it('a new file is made, and a second time nothing changes', { tags: 'long' }, async () => {
    const first = await install(name);
    expect([first.code, first.err]).toEqual([0, '']);
    expect(first.out).toContain(`new file ${file()}\n@@ -0,0 +1,`);
    expect(first.out).toContain(`\nInstalled: ${file()}\nNext: `);
    expect(json(file())).toMatchObject({ [key]: { crosstalk: entry() } });
    const content = readFileSync(file(), 'utf8');
    const second = await install(name);
    expect([second.code, second.out]).toEqual([0, `Unchanged: ${file()} has it already\n`]);
    expect(readFileSync(file(), 'utf8')).toBe(content);
  });
  it('is taken out again, and the rest stays', async () => {
    const rest = `{\n  "theme": "dark",\n  "${key}": {\n    "other": {\n      "command": "x"\n    }\n  }\n}\n`;
    put(file(), rest);
    expect((await install(name)).code).toBe(0);
    const asked = await uninstall(name, []);
    expect([asked.code, asked.err]).toEqual([
      2,
      `crosstalk mcp: nothing was written; say yes with: crosstalk mcp --uninstall ${name} --yes\n`,
    ]);
    const gone = await uninstall(name);
    expect([gone.code, gone.err]).toEqual([0, '']);
    expect(gone.out).toContain(`\nRemoved: ${file()}\n`);
    expect(readFileSync(file(), 'utf8')).toBe(rest);
    const again = await uninstall(name);
    expect(again.out).toBe(`Unchanged: ${file()} has no entry for crosstalk\n`);
  });
  it('what was added to our entry by hand stays in it', { tags: 'long' }, async () => {
    await install(name);
    const content = readFileSync(file(), 'utf8').replace(
      '"crosstalk": {',
      '"crosstalk": {\n      "timeout": 9,',
    );
    writeFileSync(file(), content.replace(bin, '/somewhere/else'));
    expect((await install(name)).code).toBe(0);
    expect(readFileSync(file(), 'utf8')).toBe(content);
  });
  it('a broken file is refused and left alone', async () => {
    put(file(), '{ "a": 1,, }');
    const { code, out, err } = await install(name);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      `crosstalk mcp: ${file()} cannot be edited, line 1: expected a name in double quotes, seen ", }"; nothing was written: fix it, or add the server by hand (docs/mcp.md)\n`,
    );
    expect(readFileSync(file(), 'utf8')).toBe('{ "a": 1,, }');
  });
  it('the settings of a person can be chosen', async () => {
    const [option, at] = other;
    expect((await install(name, [option, '--yes'])).code).toBe(0);
    expect(json(at())).toMatchObject({ [key]: { crosstalk: entry() } });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('for codex', () => {
  const config = (): string => join(home, '.codex/config.toml');

  it('the table is added to its own settings, with the environment it must pass on', async () => {
    const before = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # z\n';
    put(config(), before);
    const { code, out } = await install('codex');
    expect(code).toBe(0);
    expect(out).toContain(`Codex: ${config()}\n@@ `);
    const content = readFileSync(config(), 'utf8');
    expect(content.startsWith(`${before}\n[mcp_servers.crosstalk]\n`)).toBe(true);
    expect(toml(config())).toEqual(
      expect.arrayContaining([
        'mcp_servers.crosstalk',
        ['command', process.execPath],
        ['args', [bin, 'mcp']],
        ['env', env()],
        ['env_vars', expect.arrayContaining(['SSH_AUTH_SOCK', 'CROSSTALK_DISPATCH_ACTOR'])],
      ]),
    );
    expect((await install('codex')).out).toContain('Unchanged: ');
    expect(readFileSync(config(), 'utf8')).toBe(content);
  });
  it('CODEX_HOME and --project say where', async () => {
    const elsewhere = { env: { CODEX_HOME: join(home, 'elsewhere') } };
    await install('codex', ['--yes'], elsewhere);
    await install('codex', ['--yes', '--project'], elsewhere);
    expect(existsSync(join(home, 'elsewhere/config.toml'))).toBe(true);
    expect(existsSync(join(folder, '.codex/config.toml'))).toBe(true);
    expect(existsSync(config())).toBe(false);
  });
  it('the table is taken out again with all below it, and the rest stays', async () => {
    const rest = 'model = "o3" # mine\n\n[mcp_servers.other]\ncommand = "x"\n';
    put(config(), rest);
    await install('codex');
    const first = readFileSync(config(), 'utf8');
    writeFileSync(config(), `${first}\n[mcp_servers.crosstalk.more]\na = "b"\n\n[last]\nc = 1\n`);
    expect((await uninstall('codex')).code).toBe(0);
    expect(readFileSync(config(), 'utf8')).toBe(`${rest}\n[last]\nc = 1\n`);
    expect((await uninstall('codex')).out).toContain('has no entry for crosstalk');
  });
  it('a broken file is refused and left alone', async () => {
    put(config(), '[a\n');
    const { code, err } = await install('codex');
    expect(code).toBe(1);
    expect(err).toContain('config.toml cannot be edited, line 1: expected ], seen ""; nothing was');
    expect(readFileSync(config(), 'utf8')).toBe('[a\n');
  });
});

const LENIENT = clients.filter(({ name }) => name !== 'claude');

describe.each(LENIENT)('for $name', ({ name, file, key, entry }) => {
  it('everything else in the file stays, byte for byte', async () => {
    const rest = `{\n    // keep me\n    "theme": "dark", /* and me */\n    "${key}": {\n        "other": { "command": "x" }, // here\n    },\n}\n`;
    put(file(), rest);
    expect((await install(name)).code).toBe(0);
    const content = readFileSync(file(), 'utf8');
    const [before = '', after = ''] = rest.split(' // here\n');
    expect(content.startsWith(`${before} // here\n        "crosstalk": {\n            `)).toBe(
      true,
    );
    expect(content.endsWith(`        },\n${after}`)).toBe(true);
    expect(json(file())).toMatchObject({
      theme: 'dark',
      [key]: { other: { command: 'x' }, crosstalk: entry() },
    });
  });
});

it('what claude could not read is refused, and left alone', async () => {
  const file = join(folder, '.mcp.json');
  for (const content of ['{\n  // mine\n  "mcpServers": {}\n}\n', '{ "mcpServers": {}, }\n']) {
    writeFileSync(file, content);
    const { code, out, err } = await install('claude');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(
      `${file} cannot be edited, Claude Code reads no comments and no trailing commas: `,
    );
    expect(readFileSync(file, 'utf8')).toBe(content);
  }
});

it('an unknown client is refused with the nearest name, and two requests at once are', async () => {
  const unknown = await install('cluade');
  expect([unknown.code, unknown.err]).toEqual([
    2,
    'crosstalk mcp: --install is "cluade", expected one of claude, codex, cursor, gemini, opencode, vscode; did you mean claude?; for any other client see docs/mcp.md\n',
  ]);
  const both = await install('claude', ['--uninstall', 'claude']);
  expect(both.err).toContain('--install and --uninstall were given; give one of them');
});

describe('the change', () => {
  const file = (): string => join(folder, '.mcp.json');

  it('is only shown without a terminal and --yes, which is wrong usage', async () => {
    const { code, out, err } = await install('claude', []);
    expect(code).toBe(2);
    expect(out).toContain('+    "crosstalk": {');
    expect(err).toBe(
      'crosstalk mcp: nothing was written; say yes with: crosstalk mcp --install claude --yes\n',
    );
    expect(existsSync(file())).toBe(false);
  });
  it('is only shown with --dry-run', async () => {
    const { code, out, err } = await install('claude', ['--dry-run', '--yes']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('+    "crosstalk": {');
    expect(existsSync(file())).toBe(false);
  });
  it.each([
    ['y', 0, true],
    ['', 1, false],
    ['no', 1, false],
  ])(
    'is shown on the terminal before the question; %j gives exit code %i',
    async (says, code, written) => {
      let shown = '';
      const ran = await install('claude', [], {
        onErr: (text) => (shown += text),
        ask: async (question) => {
          expect(question).toBe(`Write this to ${file()}? [y/N] `);
          expect(shown).toContain('+    "crosstalk": {');
          expect(existsSync(file())).toBe(false);
          return says;
        },
      });
      expect(ran.code).toBe(code);
      expect(existsSync(file())).toBe(written);
    },
  );
  it('is JSON with --json', async () => {
    const { out } = await install('claude', ['--yes', '--json']);
    expect(JSON.parse(out)).toMatchObject({
      client: 'claude',
      scope: 'project',
      file: file(),
      state: 'installed',
      diff: expect.stringContaining('+    "crosstalk": {') as string,
    });
  });
  it('keeps the mode of the file, and a symlink in its place', async () => {
    const target = join(scratch(), 'dotfiles.json');
    writeFileSync(target, '{}');
    chmodSync(target, 0o640);
    symlinkSync(target, file());
    expect((await install('claude')).code).toBe(0);
    expect(lstatSync(file()).isSymbolicLink()).toBe(true);
    expect(statSync(target).mode & 0o777).toBe(0o640);
    expect(json(target)).toHaveProperty('mcpServers.crosstalk');
    expect(readdirSync(dirname(target))).toEqual(['dotfiles.json']);
  });
  it('is not made when somebody else changed the file meanwhile', async () => {
    put(file(), '{}');
    const { code, err } = await install('claude', [], {
      ask: async () => {
        writeFileSync(file(), '{"b": 1}');
        return 'yes';
      },
    });
    expect(code).toBe(1);
    expect(err).toContain(`${file()} was not written: somebody has just changed it; try again\n`);
    expect(readFileSync(file(), 'utf8')).toBe('{"b": 1}');
    expect(readdirSync(folder)).toEqual(['.mcp.json']);
  });
  it('of what is no text is refused', async () => {
    writeFileSync(file(), Buffer.from([0x7b, 0xff, 0x7d]));
    const { code, err } = await install('claude');
    expect(code).toBe(1);
    expect(err).toContain(`${file()} cannot be read: `);
    mkdirSync(join(folder, '.cursor/mcp.json'), { recursive: true });
    expect((await install('cursor')).code).toBe(1);
  });
  it('carries the sender, and this shell’s state directory', async () => {
    const state = scratch();
    await install('claude', ['--yes', '--from', 'anna'], { env: { CROSSTALK_STATE_DIR: state } });
    expect(json(file())).toHaveProperty('mcpServers.crosstalk.env', {
      ...env(),
      CROSSTALK_FROM: 'anna',
      CROSSTALK_STATE_DIR: state,
    });
  });
  it('names the program alone where the PATH leads to it, but not for an editor', async () => {
    const path = scratch();
    symlinkSync(bin, join(path, 'crosstalk'));
    await install('claude', ['--yes'], { env: { PATH: pathWith(path) } });
    await install('cursor', ['--yes'], { env: { PATH: pathWith(path) } });
    expect(json(file())).toHaveProperty('mcpServers.crosstalk.command', 'crosstalk');
    expect(json(join(folder, '.cursor/mcp.json'))).toHaveProperty(
      'mcpServers.crosstalk.command',
      process.execPath,
    );
  });
  it('replaces an entry of another kind, and takes the second version’s place in opencode', async () => {
    put(file(), '{"mcpServers": {"crosstalk": {"url": "http://x"}}}');
    put(join(folder, 'opencode.jsonc'), '{"mcp": {"servers": {}}}');
    await install('claude');
    await install('opencode');
    expect(json(file())).not.toHaveProperty('mcpServers.crosstalk.url');
    expect(json(join(folder, 'opencode.jsonc'))).toHaveProperty(
      'mcp.servers.crosstalk.type',
      'local',
    );
    expect(existsSync(join(folder, 'opencode.json'))).toBe(false);
  });
});

it.each([
  [['--install', 'clod'], '--install is "clod", expected one of claude, codex, cursor, gemini'],
  [['--install', 'claude', '--user', '--project'], '--project and --user were given'],
  [['--yes'], '--yes was given without --install'],
  [['--dry-run'], '--dry-run was given without --install'],
  [['--from', 'a b'], 'the sender "a b" is not a name'],
])('mcp %j is wrong usage', { tags: 'long' }, async (argv, expected) => {
  const { code, out, err } = await command(['mcp', ...argv, '--transport', transport], {
    cwd: folder,
    env: { HOME: home },
  });
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(expected);
});

it('a settings file that is no plain file is not waited for, and what is removed from no JSON is named', async () => {
  const file = join(folder, '.mcp.json');
  symlinkSync('/dev/tty', file);
  for (const ran of [await install('claude'), await uninstall('claude')])
    expect([ran.code, ran.err]).toEqual([
      1,
      `crosstalk mcp: ${file} cannot be read: it is no plain file; nothing was written: fix it, or move it away\n`,
    ]);
  rmSync(file);
  writeFileSync(file, 'garbage');
  const { code, err } = await uninstall('claude');
  expect(code).toBe(1);
  expect(err).toContain(`crosstalk mcp: ${file} cannot be edited, `);
  expect(readFileSync(file, 'utf8')).toBe('garbage');
});
