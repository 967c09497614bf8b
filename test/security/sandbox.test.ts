import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus, events, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

/** What a persuaded run tries; each line succeeds where nothing stops it. */
function attempts(of: Record<string, string | number>): [what: string, line: string][] {
  const at = (name: string): string => String(of[name]);
  const dial = (host: string, port: string): string =>
    `node -e "require('net').connect(${port},'${host}').on('connect',()=>process.exit(0)).on('error',()=>process.exit(1))"`;
  return [
    ['read a key of ssh', 'grep -q secret "$HOME/.ssh/id_test"'],
    ['read a login of another CLI', 'grep -q secret "$HOME/.codex/auth.json"'],
    ['read a token', 'grep -q secret "$HOME/.config/gh/hosts.yml"'],
    ['read the state', `test -s ${at('state')}/approvals.json`],
    ['read what the transport’s git knows', `grep -q origin ${at('transport')}/.git/config`],
    ['read a variable of the dispatcher', 'test "$DISPATCHER_SECRET" = secret'],
    ['write a git configuration', `echo '# x' >> ${at('transport')}/.git/config`],
    ['write the git configuration of the user', 'echo "# x" >> "$HOME/.gitconfig"'],
    ['write the checkout', `echo x > ${at('transport')}/local/x`],
    ['write a start-up file', 'grep -q mine "$HOME/.profile" && echo "# x" >> "$HOME/.profile"'],
    ['write the copy of another thread', `echo x > ${at('state')}/worktrees/other/x`],
    ['write the original repository', `echo x > ${at('app')}/x`],
    ['write a folder that all share', `echo x > ${at('shared')}/x`],
    ['reach a listener of this machine', dial('127.0.0.1', at('port'))],
    ['reach an address outside', dial('127.0.0.9', at('outside'))],
    [
      'reach a socket of the dispatcher',
      dial(`${at('state')}/wake.sock`, `{path:'${at('state')}/wake.sock'}`).replace(
        /,'[^']*'\)/,
        ')',
      ),
    ],
    ['signal the dispatcher', `kill -CONT ${at('pid')}`],
    ['look into the memory of the dispatcher', `head -c 1 /proc/${at('pid')}/maps > /dev/null`],
    [
      'make what is hidden visible again',
      `unshare -Urm sh -c 'umount ${at('state')}; test -s ${at('state')}/approvals.json'`,
    ],
    [
      'make what is unwritable writable',
      `unshare -Urm sh -c 'mount -o remount,rw,bind ${at('transport')}; echo x > ${at('transport')}/local/y'`,
    ],
  ];
}

/** Does what follows the first line of the message. */
const CLI = `sed -n '/^#!/,$p' > "$CROSSTALK_RUN_DIR/script"; sh "$CROSSTALK_RUN_DIR/script"`;

async function tried(
  host: Host,
  actor: string,
  all: [string, string][],
): Promise<Record<string, boolean>> {
  const lines = all.map(
    ([, line], n) =>
      `if ( ${line} ) >/dev/null 2>&1; then echo "${String(n)} yes"; else echo "${String(n)} no"; fi`,
  );
  await host.run('send', '--to', actor, '--', ['#!/bin/sh', ...lines].join('\n'));
  const ran = await host.run('dispatch', '--once', '--host', host.alias);
  expect(events(ran.err).filter(({ event }) => /failed|error/.test(event))).toEqual([]);
  const said = host.bus.from(actor).at(-1)?.message.body ?? '';
  return Object.fromEntries(
    all.map(([what], n) => [what, said.split('\n').includes(`${String(n)} yes`)]),
  );
}

can(
  `what a hostile run tries succeeds outside of a sandbox, and fails in it${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const home = join(bus.root, 'home');
    for (const [path, text] of Object.entries({
      '.ssh/id_test': 'secret',
      '.codex/auth.json': 'secret',
      '.config/gh/hosts.yml': 'secret',
      '.config/mine': 'visible',
      '.gitconfig': '',
      '.profile': 'mine\n',
      visible: 'visible',
    })) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const app = join(home, 'app');
    mkdirSync(app);
    git(app, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(app, 'readme'), 'hello\n');
    git(app, 'add', '.');
    git(app, '-c', 'user.name=o', '-c', 'user.email=o@example.com', 'commit', '-qm', 'first');
    const host = await bus.host('front', {
      inside: { default: { cli: CLI, worktree: app } },
      outside: { default: { cli: CLI, worktree: app } },
    });
    Object.assign(host.env, { HOME: home, DISPATCHER_SECRET: 'secret' });
    expect((await host.run('actor', 'set', 'inside', 'sandbox=default')).code).toBe(0);
    mkdirSync(join(host.state, 'worktrees/other'), { recursive: true });
    mkdirSync(join(host.dir, 'local'), { recursive: true });
    const shared = realpathSync(mkdtempSync('/var/tmp/shared-'));
    const listener = createServer();
    const outside = createServer();
    await new Promise<void>((resolve) =>
      listener.listen(0, '127.0.0.1', () => {
        resolve();
      }),
    );
    await new Promise<void>((resolve) =>
      outside.listen(0, '127.0.0.9', () => {
        resolve();
      }),
    );
    const all = attempts({
      ...{ state: host.state, transport: host.dir, app, shared, pid: process.pid },
      port: (listener.address() as AddressInfo).port,
      outside: (outside.address() as AddressInfo).port,
    });
    all.push(['read what is in HOME', 'grep -q visible "$HOME/visible" "$HOME/.config/mine"']);
    all.push([
      '(work where it works)',
      'echo x > new && git add new && git -c user.name=a -c user.email=a@b commit -qm x',
    ]);
    const free = await tried(host, 'outside', all);
    const caught = await tried(host, 'inside', all);
    for (const one of [listener, outside]) one.close();
    // Namespaces of a user's own are not there on every machine, and no dispatcher serves its socket here.
    const notOutside = [
      'make what is hidden visible again',
      'make what is unwritable writable',
      'reach a socket of the dispatcher',
    ];
    for (const [what] of all)
      if (!notOutside.includes(what)) expect(free, what).toMatchObject({ [what]: true });
    for (const [what] of all) expect(caught, what).toMatchObject({ [what]: what.startsWith('(') });
    expect(existsSync(join(shared, 'x'))).toBe(true);
    rmSync(shared, { recursive: true });
    expect(readFileSync(join(home, '.profile'), 'utf8')).toBe('mine\n# x\n');
  },
);

can(`what a run in a sandbox leaves running ends with it${UNLESS}`, async () => {
  const bus = new Bus();
  const mark = `left-behind-${String(process.pid)}`;
  const cli = `cat > /dev/null; env -i /usr/bin/setsid /bin/sh -c "exec -a ${mark} sleep 60" >/dev/null 2>&1 < /dev/null & echo done`;
  const host = await bus.host('front', { dev: cli.replaceAll('exec -a', 'exec -a') });
  expect(
    (
      await host.run(
        'actor',
        'set',
        'dev',
        'sandbox=default',
        `cli=/bin/bash -c '${cli.replaceAll("'", "'\\''")}'`,
      )
    ).code,
  ).toBe(0);
  await host.send('dev', 'one');
  expect((await host.run('dispatch', '--once', '--host', 'front')).code).toBe(0);
  expect(bus.from('dev')[0]?.message.body).toBe('done\n');
  const running = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });
  expect(running).toEqual([]);
});

can(
  `what a CLI of the operator’s reads at its next start cannot be written from a sandbox${UNLESS}`,
  async () => {
    const bus = new Bus();
    const [home, bin] = [join(bus.root, 'home'), join(bus.root, 'home/bin')];
    for (const folder of ['.claude/commands', 'bin'])
      mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, '.claude/settings.json'), '{"model":"mine"}');
    writeFileSync(join(home, '.claude/.credentials.json'), 'login');
    writeFileSync(join(home, '.claude/history.jsonl'), 'private words');
    const script = `#!/bin/sh
cat > /dev/null
cat "$HOME/.claude/settings.json" "$HOME/.claude/.credentials.json"; echo
for path in .claude/settings.json .claude/settings.local.json .claude/hook .claude.json .claude/commands/x; do echo evil > "$HOME/$path"; done 2>/dev/null
echo renewed > "$HOME/.claude/.credentials.json"
ls "$HOME/.claude" | tr '\\n' ' '
`;
    writeFileSync(join(bin, 'claude'), script, { mode: 0o755 });
    const host = await bus.host('front', { dev: 'claude --odd' });
    Object.assign(host.env, { HOME: home, PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    expect((await host.run('actor', 'set', 'dev', 'sandbox=default')).code).toBe(0);
    await host.send('dev', 'one');
    const ran = await host.run('dispatch', '--once', '--host', 'front');
    expect(ran.code, ran.err).toBe(0);
    const said = bus.from('dev')[0]?.message.body ?? '';
    expect(said).toContain('{"model":"mine"}login');
    expect(said).toContain('hook');
    expect(said).not.toContain('history');
    expect(readFileSync(join(home, '.claude/settings.json'), 'utf8')).toBe('{"model":"mine"}');
    expect(readFileSync(join(home, '.claude/.credentials.json'), 'utf8')).toBe('login');
    expect(readdirSync(join(home, '.claude')).sort()).toEqual([
      '.credentials.json',
      'commands',
      'history.jsonl',
      'settings.json',
    ]);
    expect(readdirSync(join(home, '.claude/commands'))).toEqual([]);
    expect(existsSync(join(home, '.claude.json'))).toBe(false);
  },
);

can(
  `settings that a run leaves in the folders of its CLI are gone before the next one${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const [home, bin] = [join(bus.root, 'home'), join(bus.root, 'home/bin')];
    mkdirSync(bin, { recursive: true });
    mkdirSync(join(home, 'mine'));
    writeFileSync(join(home, 'mine/models.json'), 'mine');
    // Settings, and a symlink in the place of a folder with settings in it.
    const script = `#!/bin/sh
cd "$HOME/.pi/agent"
grep -q plant-them && { mkdir prompts && echo evil > settings.json && ln -s "$HOME/mine" skills && echo left; exit; }
ls -A; echo looked
`;
    writeFileSync(join(bin, 'pi'), script, { mode: 0o755 });
    const host = await bus.host('front', { dev: 'pi --odd' });
    Object.assign(host.env, { HOME: home, PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    expect((await host.run('actor', 'set', 'dev', 'sandbox=default')).code).toBe(0);
    const said: string[] = [];
    for (const body of ['plant-them', 'look']) {
      await host.send('dev', body);
      await host.once();
      said.push(bus.from('dev').at(-1)?.message.body.trim() ?? '');
    }
    expect(said).toEqual(['left', 'looked']);
    // What the symlink leads to is not touched.
    expect(readFileSync(join(home, 'mine/models.json'), 'utf8')).toBe('mine');
  },
);

it('without a sandbox program the mail waits, and status says what to install', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { dev: 'cat > /dev/null; echo done' });
  const bin = join(bus.root, 'bin');
  mkdirSync(bin);
  for (const name of ['git', 'sh', 'cat', 'node', 'perl', 'ssh'])
    for (const folder of (process.env['PATH'] ?? '').split(':'))
      if (existsSync(join(folder, name)) && !existsSync(join(bin, name)))
        symlinkSync(join(folder, name), join(bin, name));
  host.env['PATH'] = bin;
  expect((await host.run('actor', 'set', 'dev', 'sandbox=default')).code).toBe(0);
  const question = await host.send('dev', 'one');
  const running = host.start();
  const parked = await running.saw('parked');
  expect(parked).toMatchObject({ reason: 'no_sandbox', actor: 'dev' });
  expect(parked['said']).toContain('bubblewrap (bwrap) is not installed');
  const status = await host.run('status');
  expect(status.out).toContain('apt-get install bubblewrap');
  expect((await host.run('explain', question, 'dev')).out).toContain('no sandbox can be made here');
  expect(bus.from('dev')).toEqual([]);
});
