import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus, type Host } from '../support/bus.ts';
import { tried } from '../support/sandboxed.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

/** Writes files, and makes the folders above them. */
function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

it.skipIf(!backend.ok || process.getuid?.() !== 0)(
  `a run in a sandbox of root changes nothing of the machine by /proc or /sys${UNLESS}`,
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const own = (folder: string): string =>
      `unshare -Urpfm --mount-proc sh -c 'test -w ${folder}/kernel/core_pattern'`;
    const files = [
      ...['/proc/sys/kernel/core_pattern', '/proc/sys/vm/overcommit_memory'],
      ...['/proc/sys/fs/file-max', '/proc/sys/kernel/modprobe', '/proc/sysrq-trigger'],
    ].filter((path) => existsSync(path));
    const commands = {
      ...Object.fromEntries(files.map((path) => [path, `test -w ${path}`])),
      // The mode of a file of the kernel is changed by its owner.
      'a file that root may make writable': 'chmod u+w /proc/version',
      'a /proc of its own': own('/proc/sys'),
      'the files of /sys': 'test -w /sys/kernel/mm || test -w /sys/power/state',
      '(a file of its own process)': 'echo 10 > /proc/self/oom_score_adj',
    };
    const boxed = await tried({ bus, host }, commands, { sandbox: { net: ['none'] } });
    expect(boxed.succeeded).toEqual(['(a file of its own process)']);
    const free = await tried({ bus, host }, commands, {});
    expect(free.succeeded).toEqual(expect.arrayContaining(files));
    const { mode } = await import('node:fs').then(({ statSync }) => statSync('/proc/version'));
    execFileSync('chmod', ['a-w', '/proc/version']);
    expect(mode & 0o200).toBe(0o200);
  },
);

/** A machine with secrets in places that no list of places knows. */
async function world(): Promise<{ bus: Bus; host: Host; home: string }> {
  const bus = new Bus();
  const home = join(bus.root, 'home');
  write(home, {
    'keys/signing': 'secret',
    'keys/ssh': 'secret',
    '.codex-work/auth.json': 'secret',
    '.newcli/login.json': 'secret',
    'notes/today': 'secret',
    'app/readme': 'hello',
    'tool/lib/run': '#!/bin/sh\necho it works\n',
  });
  const host = await bus.host('front', {});
  host.env['HOME'] = home;
  return { bus, host, home };
}

can(
  `a run in a sandbox reads nothing of HOME that is not named, whatever its place is called${UNLESS}`,
  { tags: 'long' },
  async () => {
    const { bus, host, home } = await world();
    const config = join(home, '.gitconfig');
    host.env['GIT_CONFIG_GLOBAL'] = config;
    write(home, {
      '.gitconfig':
        '[user]\n\tname = Olga\n[url "https://token@example.com/"]\n\tinsteadOf = x:\n[core]\n\tsshCommand = ssh -i key\n[alias]\n\tleak = !cat\n',
      '.local/bin/helper': '#!/bin/sh\necho helped\n',
    });
    const commands = {
      'a key to sign with': 'grep -q secret ~/keys/signing',
      'a login of another name': 'grep -q secret ~/.codex-work/auth.json',
      'the login of a CLI that is not known': 'grep -q secret ~/.newcli/login.json',
      'a file of the operator’s': 'grep -q secret ~/notes/today',
      'a token in the settings of git': 'git config --global --list | grep -q token',
      'a command in the settings of git':
        'git config --get core.sshCommand || git config --get alias.leak',
      '(who writes commits)': 'test "$(git config user.name)" = Olga',
      '(a program in a usual place)': 'test "$(sh ~/.local/bin/helper)" = helped',
      '(a program of the system)': 'perl -e 1 && ls /etc/passwd',
    };
    const named = Object.keys(commands).filter((name) => name.startsWith('('));
    const boxed = await tried({ bus, host }, commands, { sandbox: { net: ['none'] } });
    expect(boxed.succeeded).toEqual(named);
    const free = await tried({ bus, host }, commands, {});
    expect(free.succeeded).toEqual(Object.keys(commands));
  },
);

can(
  `a key and a login that this bus knows are hidden also in a folder that a sandbox names${UNLESS}`,
  async () => {
    const { bus, host, home } = await world();
    const key = join(home, 'keys/real');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key], { stdio: 'ignore' });
    const set = (name: string, value: string): void => {
      execFileSync('git', ['-C', host.dir, 'config', name, value]);
    };
    set('crosstalk.signingKey', key);
    set('core.sshCommand', `ssh -i ${join(home, 'keys/ssh')} -o IdentitiesOnly=yes`);
    host.env['CODEX_HOME'] = join(home, '.codex-work');
    const commands = {
      'the key to sign with': 'grep -q PRIVATE ~/keys/real',
      'the key of ssh': 'grep -q secret ~/keys/ssh',
      'the login of another actor': 'grep -q secret ~/.codex-work/auth.json',
      // Where it lies in what may be written, its folder cannot be moved away from under the cover.
      'the same after a move': 'mv ~/keys ~/keys2',
      '(what else is there)': 'grep -q hello ~/app/readme',
    };
    const boxed = await tried({ bus, host }, commands, {
      sandbox: { net: ['none'], write: [home] },
    });
    expect(boxed.succeeded).toEqual(['(what else is there)']);
    const read = await tried({ bus, host }, commands, { sandbox: { net: ['none'], read: [home] } });
    expect(read.succeeded).toEqual(['(what else is there)']);
  },
);

can(
  `a command that a sandbox does not show fails with its path, and works once its folder is named${UNLESS}`,
  async () => {
    const { bus, host, home } = await world();
    const bin = join(home, 'programs');
    mkdirSync(bin);
    execFileSync('chmod', ['+x', join(home, 'tool/lib/run')]);
    symlinkSync(join(home, 'tool/lib/run'), join(bin, 'my-tool'));
    host.env['PATH'] = `${bin}:${process.env['PATH'] ?? ''}`;
    const pass = async (read: string[]): Promise<string> => {
      host.declare({ dev: { default: { cli: 'my-tool', sandbox: { net: ['none'], read } } } });
      await host.approve();
      await host.send('dev', 'go on');
      const log = await host.once();
      return JSON.stringify(log);
    };
    expect(await pass([])).toContain(`the sandbox does not show ${join(bin, 'my-tool')}`);
    // A symlink that is shown needs what it leads to.
    expect(await pass(['~/programs'])).toMatch(
      /does not show \S+\/tool\/lib\/run, .* name its folder in read: of the sandbox of the tier/,
    );
    await pass(['~/programs', '~/tool']);
    expect(bus.from('dev').at(-1)?.message.body).toBe('it works\n');
    const terminal = await host.run('sandbox', 'run', '--', 'my-tool');
    expect([terminal.code, terminal.err.includes('name its folder in read:')]).toEqual([1, true]);
  },
);

it.skipIf(!backend.ok || process.getuid?.() !== 0)(
  `a run in a sandbox of root reads of /etc what everybody may read${UNLESS}`,
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const isThere = spawnSync('test', ['-s', '/etc/shadow']).status === 0;
    const commands = {
      ...(isThere && { passwords: 'test -s /etc/shadow' }),
      'anything that is private': `find /etc /opt /usr/local -type f ! -perm -004 -size +0 | grep -q .`,
      '(what is public)': 'grep -q root /etc/passwd && ls /etc/ssl/certs',
    };
    const boxed = await tried({ bus, host }, commands, { sandbox: { net: ['none'] } });
    expect(boxed.succeeded).toEqual(['(what is public)']);
    expect(readFileSync('/etc/passwd', 'utf8')).toContain('root');
  },
);
