import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, scratch } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { git } from '../support/git.ts';
import { until } from '../support/wait.ts';

/** Every hook that git knows (githooks(5)). */
const HOOKS =
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change'.split(
    ' ',
  );

/** A program that leaves a file with the name under which it was called. */
function trap(folder: string): (name: string) => string {
  const marks = join(folder, 'marks');
  const bin = join(folder, 'traps');
  mkdirSync(marks);
  mkdirSync(bin);
  return (name) => {
    const path = join(bin, name);
    writeFileSync(path, `#!/bin/sh\ntouch '${join(marks, name)}'\nexit 1\n`);
    chmodSync(path, 0o755);
    return path;
  };
}

/**
 * Everything that a run with access to the clone can make git execute, through its configuration
 * and hooks.
 */
function poison(dir: string, trapped: (name: string) => string, hub: string): void {
  const hooks = join(dir, '.git', 'other-hooks');
  for (const folder of [join(dir, '.git', 'hooks'), hooks]) {
    mkdirSync(folder, { recursive: true });
    for (const name of HOOKS) {
      writeFileSync(join(folder, name), `#!/bin/sh\nexec '${trapped(`hook-${name}`)}' "$@"\n`);
      chmodSync(join(folder, name), 0o755);
    }
  }
  const run = (name: string): string => `sh -c '${trapped(name)}; exit 1'`;
  const settings: Record<string, string> = {
    'core.fsmonitor': trapped('fsmonitor'),
    'core.hooksPath': hooks,
    'core.sshCommand': trapped('sshCommand'),
    'core.gitProxy': trapped('gitProxy'),
    'core.askPass': trapped('askPass'),
    'core.pager': trapped('pager'),
    'core.editor': trapped('editor'),
    'core.alternateRefsCommand': trapped('alternateRefs'),
    'core.worktree': '/',
    'core.attributesFile': join(dir, '.git', 'attributes-of-mine'),
    'credential.helper': `!${trapped('credentials')}`,
    'filter.trap.smudge': trapped('smudge'),
    'filter.trap.clean': trapped('clean'),
    'filter.trap.process': trapped('filter-process'),
    'diff.external': trapped('diff-external'),
    'diff.trap.command': trapped('diff-command'),
    'diff.trap.textconv': trapped('textconv'),
    'merge.trap.driver': trapped('merge-driver'),
    'gpg.program': trapped('gpg'),
    'commit.gpgSign': 'true',
    'alias.fetch': `!${trapped('alias')}`,
    'pager.config': trapped('pager-config'),
    'protocol.ext.allow': 'always',
    'uploadpack.packObjectsHook': trapped('packObjectsHook'),
    'remote.origin.uploadpack': run('uploadpack'),
    'remote.origin.receivepack': run('receivepack'),
    'remote.origin.vcs': 'trap',
    'remote.pushDefault': 'elsewhere',
    'remote.elsewhere.url': `ext::${trapped('ext-elsewhere')}`,
    [`url.ext::${trapped('ext-instead')} .insteadOf`]: hub,
    'submodule.recurse': 'true',
    'extensions.worktreeConfig': 'true',
  };
  for (const [name, value] of Object.entries(settings)) git(dir, 'config', name, value);
  git(dir, 'config', 'remote.origin.url', `ext::${trapped('ext-url')}`);
  const included = join(dir, '.git', 'included');
  writeFileSync(included, `[core]\n\tfsmonitor = ${trapped('included-fsmonitor')}\n`);
  appendFileSync(join(dir, '.git', 'config'), `[include]\n\tpath = ${included}\n`);
  writeFileSync(
    join(dir, '.git', 'config.worktree'),
    `[core]\n\tfsmonitor = ${trapped('worktree-fsmonitor')}\n`,
  );
  writeFileSync(join(dir, '.git', 'info', 'attributes'), '* filter=trap diff=trap merge=trap\n');
  writeFileSync(join(dir, '.git', 'attributes-of-mine'), '* filter=trap\n');
}

it(
  'nothing that a run writes into the clone’s git configuration or hooks is executed by the bus',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat >/dev/null; echo answered' });
    await host.once();
    const running = host.start();
    await running.saw('tick');
    const folder = scratch();
    poison(host.dir, trap(folder), bus.hub);

    const question = await host.send('worker', 'are you there?');
    await until('the answer', () => (bus.from('worker').length > 0 ? true : undefined));
    host.edit({ '.gitattributes': '* filter=trap\n', 'local/note.md': 'news\n' });
    const later = await host.send('worker', 'and now?');
    expect((await host.run('replies', '--wait', '--timeout', '100', later)).out).toContain(
      'answered',
    );
    await running.stop();
    for (const args of [
      ['status'],
      ['sync'],
      ['doctor'],
      ['log'],
      ['replies', question],
      ['search', 'there'],
      ['thread', question],
      ['channel', 'create', 'another'],
      ['host', 'show'],
      ['dispatch', '--once', '--host', 'front'],
    ])
      await host.run(...args);

    expect(readdirSync(join(folder, 'marks'))).toEqual([]);
    expect(existsSync(join(host.dir, 'local/note.md'))).toBe(true);
    expect(existsSync(join(host.dir, '.gitattributes'))).toBe(false);
    // The traps work: they are triggered by the operator's own git.
    git(host.dir, 'config', '--unset', 'core.worktree');
    try {
      git(host.dir, '-c', 'core.worktree=.', 'status');
    } catch {
      // Only what was executed matters.
    }
    expect(readdirSync(join(folder, 'marks'))).not.toEqual([]);
  },
);

it('a transport without a remote is as safe from its clone’s configuration and hooks', async () => {
  const root = scratch();
  const dir = join(root, 'solo');
  const run = (...argv: string[]): ReturnType<typeof command> =>
    command(argv, { cwd: argv[0] === 'init' ? root : dir });
  await run('init', 'solo', '--alias', 'here', '--cli', 'echo done');
  const folder = scratch();
  poison(dir, trap(folder), join(root, 'nowhere.git'));
  const sent = await run('send', '--to', 'concierge', 'hello');
  expect(sent.out).toMatch(/^Sent: /);
  expect((await run('dispatch', '--once', '--host', 'here')).code).toBe(0);
  expect((await run('replies', sent.out.trim().slice('Sent: '.length))).out).toContain('done');
  await run('sync');
  await run('doctor');
  expect(readdirSync(join(folder, 'marks'))).toEqual([]);
});

it('a changed remote stays out of force until it is approved, and mail goes on to the recorded one', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const other = join(bus.root, 'elsewhere.git');
  mkdirSync(other);
  git(other, 'init', '--quiet', '--bare', '--initial-branch=main');
  git(host.dir, 'remote', 'set-url', 'origin', other);
  const question = await host.send('worker', 'secret');
  await host.once();
  expect((await host.run('replies', question)).out).toMatch(/^REPLIED /);
  expect(bus.from('worker')).toHaveLength(1);
  expect(git(other, 'for-each-ref')).toBe('');
  await host.pointTo(other);
  await host.send('worker', 'here from now on');
  expect(git(other, 'for-each-ref')).toContain('refs/heads/main');
});

it('a remote that runs a command is refused before anything is started', async () => {
  const root = scratch();
  const marks = join(root, 'ran');
  const made = await command(['init', 'team', '--remote', `ext::sh -c touch% ${marks}`], {
    cwd: root,
  });
  expect(made.code).toBe(1);
  expect(made.err).toContain('never used');
  expect(existsSync(marks)).toBe(false);
});
