import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { accountOf } from '../../src/agents/agents.ts';
import { needsOf } from '../../src/agents/sandbox.ts';
import { cliHome, type CliHome } from '../../src/dispatcher/sandbox/confine.ts';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { USUAL_SANDBOX } from '../../src/protocol/files/tier-sandbox.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { until } from '../support/wait.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

/** What a CLI would obey, or execute, if a run could leave it: settings, instructions, programs, notes. */
const LEFT: Readonly<Record<string, readonly string[]>> = {
  claude: ['rules/x.md', 'hooks/x', 'settings.json', 'projects/p/memory/MEMORY.md'].map(
    (name) => `.claude/${name}`,
  ),
  codex: ['AGENTS.override.md', 'hooks.json', 'x.config.toml', 'skills/x/SKILL.md'].map(
    (name) => `.codex/${name}`,
  ),
  gemini: ['policies/x.toml', 'hooks/x', 'tmp/bin/rg', 'tmp/p/memory/MEMORY.md'].map(
    (name) => `.gemini/${name}`,
  ),
  opencode: [
    ...['.config/opencode/tool/x.js', '.config/opencode/node_modules/x/index.js'],
    ...['.cache/opencode/bin/rg', '.local/share/opencode/bin/rg', '.local/state/opencode/kv.json'],
  ],
  qwen: ['.qwen/output-language.md', '.qwen/tmp/bin/rg'],
  pi: ['SYSTEM.md', 'bin/fd', 'extensions/x.ts', 'sessions/x/AGENTS.md'].map(
    (name) => `.pi/agent/${name}`,
  ),
};

/** A machine with a scripted CLI of this name, in a HOME of its own. */
async function machine(
  name: string,
  script: string,
): Promise<{ bus: Bus; host: Host; home: string; open: string }> {
  const bus = new Bus();
  const [home, bin, open] = ['home', 'home/bin', 'open'].map((one) => join(bus.root, one)) as [
    string,
    string,
    string,
  ];
  for (const folder of [bin, open]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const host = await bus.host('front', {});
  Object.assign(host.env, { HOME: home, PATH: `${bin}:${process.env['PATH'] ?? ''}` });
  const tier = { cli: `${name} --odd`, sandbox: { net: ['none'], write: [open, bin] } };
  host.declare({ dev: { default: tier } });
  await host.approve();
  return { bus, host, home, open };
}

async function told({ bus, host }: { bus: Bus; host: Host }, text: string): Promise<string> {
  await host.send('dev', text);
  const log = await host.once();
  expect(log.filter(({ event }) => /failed|error/.test(event))).toEqual([]);
  return bus.from('dev').at(-1)?.message.body.trim() ?? '';
}

for (const [name, paths] of Object.entries(LEFT))
  can(
    `nothing that a run of ${name} leaves in its folders is there for a later one${UNLESS}`,
    { tags: 'long' },
    async () => {
      const at = await machine(
        name,
        `cd "$HOME"; if grep -q plant-it; then
for path in ${paths.join(' ')}; do mkdir -p "$(dirname "$path")" && echo evil > "$path" || echo "not $path"; done; echo planted
else for path in ${paths.join(' ')}; do test -e "$path" && echo "$path"; done; echo looked; fi`,
      );
      expect(await told(at, 'plant-it')).toBe('planted');
      expect(await told(at, 'look')).toBe('looked');
      const kept = readdirSync(join(at.host.state, 'sandbox'), {
        recursive: true,
        encoding: 'utf8',
      });
      expect(kept.filter((path) => paths.some((one) => path.endsWith(one)))).toEqual([]);
      for (const path of paths) expect(existsSync(join(at.home, path)), path).toBe(false);
    },
  );

/** What a run makes of the copy of its login that `$new` holds. */
const WRITES = [
  'cat "$new" > "$login"',
  'cp "$new" "$login.tmp" && mv "$login.tmp" "$login"',
  'rm "$login"; ln -s "$new" "$login"',
  'mv "$(dirname "$login")" "$(dirname "$login").gone"; ln -s "$(dirname "$new")" "$(dirname "$login")"; cp "$new" "$(dirname "$new")/auth.json"',
  'rm "$login"; mkfifo "$login"',
  'rm "$login"; mkdir "$login"',
  'truncate -s 4G "$login"',
];

for (const [name, path] of [
  ['pi', '.pi/agent/auth.json'],
  ['opencode', '.local/share/opencode/auth.json'],
] as const)
  can(
    `a run of ${name} changes nothing in the login but its tokens, however it tries${UNLESS}`,
    { tags: 'long' },
    async () => {
      const at = await machine(name, 'cat > /dev/null; . "$HOME/bin/do"');
      const login = join(at.home, path);
      mkdirSync(dirname(login), { recursive: true });
      const entry = { type: 'oauth', access: 'a1', refresh: 'r1', expires: 1 };
      const mine = JSON.stringify({ one: entry, two: { type: 'api_key', key: 'mine' } });
      writeFileSync(login, mine);
      const next = join(at.open, 'new.json');
      const run = async (write: string, value: unknown): Promise<string> => {
        writeFileSync(next, JSON.stringify(value));
        writeFileSync(
          join(at.home, 'bin/do'),
          `new=${next}; login="$HOME/${path}"; cat "$login"; { ${write}; } >/dev/null 2>&1; true`,
        );
        return told(at, 'go on');
      };
      const evil = {
        one: { type: 'api_key', key: '!touch /tmp/x' },
        two: { type: 'api_key', key: '!touch /tmp/x' },
        'https://evil.example': { type: 'wellknown', key: 'PATH', token: '/evil' },
      };
      for (const write of WRITES) {
        // It has a copy.
        expect(await run(write, evil), write).toBe(mine);
        expect(readFileSync(login, 'utf8'), write).toBe(mine);
        expect(lstatSync(login).isFile(), write).toBe(true);
      }
      // Behind a symlink even what would come back does not.
      const renewed = { ...entry, access: 'a2', refresh: 'r2', expires: 2 };
      await run(WRITES[2] ?? '', { one: renewed });
      await run(WRITES[3] ?? '', { one: renewed });
      expect(readFileSync(login, 'utf8')).toBe(mine);
      for (const write of WRITES.slice(0, 2)) {
        writeFileSync(login, mine);
        await run(write, { ...evil, one: renewed });
        expect(JSON.parse(readFileSync(login, 'utf8')), write).toEqual({
          one: renewed,
          two: { type: 'api_key', key: 'mine' },
        });
        expect(lstatSync(login).mode & 0o777).toBe(0o600);
      }
    },
  );

/** The folders of a CLI for a run, without the run. */
async function homeOf(
  root: string,
  name: string,
  run: string,
  session?: { key: string; goesOn: boolean },
): Promise<CliHome & { dir: string }> {
  const runDir = join(root, 'state/run', run);
  mkdirSync(runDir, { recursive: true });
  const home = join(root, 'home');
  mkdirSync(home, { recursive: true });
  const made = await cliHome(
    {
      ...{ sandbox: USUAL_SANDBOX, program: 'bwrap', actor: 'dev', command: name, cwd: home },
      ...{ env: { HOME: home }, runDir, stateDir: join(root, 'state'), stateHome: root },
      transport: { dir: root, gitDirs: [] },
      tiers: [],
      ...(session && { session }),
      now: () => new Date(),
      log: () => undefined,
    },
    accountOf(name),
    home,
    [],
  );
  return {
    ...made,
    dir: join(root, 'state/sandbox/.homes', run),
    close: async () => {
      await made.close();
      rmSync(runDir, { recursive: true });
    },
  };
}

function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => !lstatSync(join(dir, path)).isDirectory())
    .sort();
}

/** An example of a file that fits a pattern. */
const example = (pattern: string): string => pattern.replaceAll('*', 'x');

it('only the files of its session come back from a run, for the next run of that session', async () => {
  for (const [name, left] of Object.entries(LEFT)) {
    const root = scratch();
    const account = accountOf(name);
    const sessions = (account && needsOf(account.agent)?.sessions) ?? [];
    const first = await homeOf(root, name, 'r1', { key: 'a', goesOn: false });
    for (const path of [...left, ...sessions.map(example)]) {
      mkdirSync(dirname(join(first.dir, path)), { recursive: true });
      writeFileSync(join(first.dir, path), path);
    }
    await first.close();
    expect(existsSync(first.dir)).toBe(false);
    // Another session of the actor, and a run without any, have none of it.
    for (const other of [{ key: 'b', goesOn: true }, undefined]) {
      const made = await homeOf(root, name, 'r2', other);
      expect(filesIn(made.dir), name).toEqual([]);
      await made.close();
    }
    const next = await homeOf(root, name, 'r3', { key: 'a', goesOn: true });
    expect(filesIn(next.dir), name).toEqual(sessions.map(example).sort());
    for (const path of sessions.map(example))
      expect(readFileSync(join(next.dir, path), 'utf8')).toBe(path);
    await next.close();
    // A session that is begun anew begins with nothing.
    const anew = await homeOf(root, name, 'r4', { key: 'a', goesOn: false });
    expect(filesIn(anew.dir)).toEqual([]);
    await anew.close();
  }
});

it('nothing but plain files comes back as a session, and none from behind a symlink', async () => {
  const root = scratch();
  const secret = join(root, 'secret');
  mkdirSync(join(secret, '2026/01/01'), { recursive: true });
  writeFileSync(join(secret, '2026/01/01/rollout-x.jsonl'), 'secret');
  const day = '.codex/sessions/2026/01/01';
  const attacks: Record<string, (dir: string) => void> = {
    'a symlink in the place of a file': (dir) => {
      mkdirSync(join(dir, day), { recursive: true });
      symlinkSync(join(secret, '2026/01/01/rollout-x.jsonl'), join(dir, day, 'rollout-x'));
    },
    'a symlink in the place of a folder': (dir) => {
      mkdirSync(join(dir, '.codex/sessions'), { recursive: true });
      symlinkSync(join(secret, '2026'), join(dir, '.codex/sessions/2026'));
    },
    'a symlink in the place of all folders': (dir) => {
      renameSync(join(dir, '.codex'), join(dir, 'moved'));
      mkdirSync(join(root, 'x'), { recursive: true });
      symlinkSync(secret, join(root, 'x/sessions'));
      symlinkSync(join(root, 'x'), join(dir, '.codex'));
    },
    'a named pipe': (dir) => {
      mkdirSync(join(dir, day), { recursive: true });
      execFileSync('mkfifo', [join(dir, day, 'rollout-x')]);
    },
    'a folder': (dir) => {
      mkdirSync(join(dir, day, 'rollout-x/rules'), { recursive: true });
      writeFileSync(join(dir, day, 'rollout-x/rules/x'), 'evil');
    },
    'a folder with a name in it that is no text': (dir) => {
      const folder = Buffer.from(`${join(dir, day)}/rollout-x/r\xe9sidue`, 'latin1');
      mkdirSync(folder, { recursive: true });
      writeFileSync(Buffer.concat([folder, Buffer.from('/AGENTS.md')]), 'evil');
    },
  };
  for (const [what, attack] of Object.entries(attacks)) {
    const first = await homeOf(root, 'codex', 'r1', { key: 'a', goesOn: false });
    attack(first.dir);
    await first.close();
    const left = readdirSync(root, { recursive: true, encoding: 'utf8' });
    expect(left.filter((path) => /\.sessions\/.*(?:rollout-x|\.gone)/.test(path))).toEqual([]);
    const next = await homeOf(root, 'codex', 'r2', { key: 'a', goesOn: true });
    expect(filesIn(next.dir), what).toEqual([]);
    await next.close();
    expect(readFileSync(join(secret, '2026/01/01/rollout-x.jsonl'), 'utf8')).toBe('secret');
    rmSync(join(root, 'x'), { recursive: true, force: true });
  }
});

it('the folders of a run that ended without us are removed when the next one begins', async () => {
  const root = scratch();
  const lost = await homeOf(root, 'pi', 'r1');
  const live = await homeOf(root, 'pi', 'r2');
  rmSync(join(root, 'state/run/r1'), { recursive: true });
  const next = await homeOf(root, 'pi', 'r3');
  expect([lost, live, next].map(({ dir }) => existsSync(dir))).toEqual([false, true, true]);
  await next.close();
  await live.close();
});

it('a login that is renewed in a run comes back at once, and one renewed outside gets to it', async () => {
  const root = mkdtempSync(join(scratch(), 'x'));
  const file = join(root, 'home/.pi/agent/auth.json');
  mkdirSync(dirname(file), { recursive: true });
  const login = (serial: number): string =>
    JSON.stringify({
      one: {
        type: 'oauth',
        access: `a${String(serial)}`,
        refresh: `r${String(serial)}`,
        expires: serial,
      },
    });
  const serialAt = (path: string): number =>
    (JSON.parse(readFileSync(path, 'utf8')) as { one: { expires: number } }).one.expires;
  writeFileSync(file, login(1));
  const [first, second] = [await homeOf(root, 'pi', 'r1'), await homeOf(root, 'pi', 'r2')];
  onTestFinished(first.close);
  const [one, two] = [first, second].map(({ dir }) => join(dir, '.pi/agent/auth.json')) as [
    string,
    string,
  ];
  writeFileSync(one, login(2));
  await until(
    'it came back, and got to the other run',
    () => serialAt(file) === 2 && serialAt(two) === 2,
  );
  writeFileSync(`${file}.tmp`, login(3));
  renameSync(`${file}.tmp`, file);
  await until('it got to both', () => serialAt(one) === 3 && serialAt(two) === 3);
  // One that is older, or has nothing to do with what it was given, changes nothing.
  writeFileSync(two, login(1));
  await second.close();
  expect(serialAt(file)).toBe(3);
});
