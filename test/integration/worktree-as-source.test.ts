import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeTree } from '../../src/transport/worktree/make.ts';
import { findSource } from '../../src/transport/worktree/source.ts';
import { scratch } from '../support/bus.ts';
import { git } from '../support/git.ts';

/** A project of an operator whose git knows nobody, and who has a HOME with settings. */
class Project {
  readonly root = scratch();
  readonly app = join(this.root, 'work', 'app');
  readonly env: NodeJS.ProcessEnv;

  constructor(settings = '') {
    mkdirSync(this.app, { recursive: true });
    const global = join(this.root, 'settings');
    writeFileSync(
      global,
      `[user]\n\tuseConfigOnly = true\n${settings.replaceAll('$ROOT', this.root)}`,
    );
    this.env = { PATH: process.env['PATH'], HOME: this.root, GIT_CONFIG_GLOBAL: global };
    git(this.app, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(this.app, 'readme'), 'hello\n');
    this.commit();
  }

  commit(): void {
    git(this.app, 'add', '.');
    git(this.app, 'commit', '--quiet', '--message', 'work');
  }

  /** A new copy. */
  async copy(): Promise<string> {
    const to = { actor: 'dev', dir: join(this.root, 'copy'), branch: 'crosstalk/0a' };
    await makeTree(this.env, await findSource(this.app), to, new AbortController().signal);
    return to.dir;
  }

  /** Runs git as a run does, without a variable that names somebody. */
  git(dir: string, ...args: string[]): string {
    return execFileSync('git', ['-C', dir, ...args], { env: this.env, encoding: 'utf8' });
  }

  /** Whom a commit in a new copy names. */
  async names(): Promise<string> {
    const dir = await this.copy();
    this.git(dir, 'commit', '--quiet', '--allow-empty', '--message', 'work');
    this.git(dir, 'tag', '--annotate', '--message', 'text', 'v1');
    return this.git(dir, 'log', '-1', '--format=%an <%ae>, %cn <%ce>').trim();
  }
}

it('a commit in a copy names whom the repository names, by its own settings or by where it is', async () => {
  const own = new Project();
  git(own.app, 'config', 'user.name', 'Own "O" Name');
  git(own.app, 'config', 'user.email', 'own@example.com');
  git(own.app, 'config', 'author.name', 'Author');
  const is = 'Author <own@example.com>, Own "O" Name <own@example.com>';
  expect(await own.names()).toBe(is);
  const byPlace = new Project('[includeIf "gitdir:$ROOT/work/"]\n\tpath = $ROOT/at-work\n');
  writeFileSync(join(byPlace.root, 'at-work'), '[user]\n\tname = W\n\temail = w@work.example\n');
  expect(await byPlace.names()).toBe('W <w@work.example>, W <w@work.example>');
});

it('a commit in a copy of a repository that names nobody names the actor', async () => {
  const is = 'dev <dev@crosstalk.local>';
  expect(await new Project().names()).toBe(`${is}, ${is}`);
});

it('a commit in a copy is not signed, and no program of the repository runs for it', async () => {
  const project = new Project('[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n');
  const [marker, program] = [join(project.root, 'ran'), join(project.root, 'program')];
  writeFileSync(program, `#!/bin/sh\necho ran >> ${marker}\nexit 1\n`, { mode: 0o755 });
  for (const key of [
    'gpg.program',
    'core.editor',
    'core.pager',
    'core.fsmonitor',
    'core.sshCommand',
  ])
    git(project.app, 'config', '--file', '.git/config', key, program);
  git(project.app, 'config', '--file', '.git/config', 'user.signingKey', 'key');
  writeFileSync(
    join(project.root, 'settings'),
    `[gpg]\n\tprogram = ${program}\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n`,
  );
  expect(await project.names()).toContain('dev <dev@crosstalk.local>');
  expect(existsSync(marker)).toBe(false);
});

/** Adds a submodule without fetching it. */
function submodule(project: Project, name: string, url: string): void {
  git(project.app, 'config', '--file', '.gitmodules', `submodule.${name}.path`, name);
  git(project.app, 'config', '--file', '.gitmodules', `submodule.${name}.url`, url);
  mkdirSync(join(project.app, name));
  const head = git(project.app, 'rev-parse', 'HEAD').trim();
  git(project.app, 'update-index', '--add', '--cacheinfo', `160000,${head},${name}`);
}

it.each([
  [
    'https://somebody:secret@forge.example/team/app.git',
    '../lib.git',
    'https://forge.example/team/lib.git',
  ],
  ['git@forge.example:app.git', '../lib.git', 'git@forge.example:lib.git'],
  ['ssh://git@forge.example/team/app/', '.././../other/lib', 'ssh://git@forge.example/other/lib'],
  ['../hub/app.git', '../lib.git', '$ROOT/work/hub/lib.git'],
])('a submodule of a clone of %s at %s is looked for at %s', async (origin, url, found) => {
  const project = new Project();
  git(project.app, 'remote', 'add', 'origin', origin);
  submodule(project, 'lib', url);
  submodule(project, 'whole', 'https://other.example/whole.git');
  project.commit();
  const dir = await project.copy();
  project.git(dir, 'submodule', '--quiet', 'init');
  const is = (name: string): string => project.git(dir, 'config', `submodule.${name}.url`).trim();
  expect(is('lib')).toBe(found.replace('$ROOT', project.root));
  expect(is('whole')).toBe('https://other.example/whole.git');
});

it('a submodule in a copy comes from where the repository has it, and from its remote by default', async () => {
  const project = new Project();
  const hub = join(project.root, 'hub');
  mkdirSync(hub);
  git(hub, 'clone', '--quiet', '--bare', project.app, 'lib.git');
  git(project.app, 'remote', 'add', 'up', join(hub, 'app.git'));
  git(project.app, 'config', 'branch.main.remote', 'up');
  for (const name of ['lib', 'own', 'ext']) submodule(project, name, '../lib.git');
  git(project.app, 'config', 'submodule.own.url', 'https://mirror.example/own.git');
  git(project.app, 'config', 'submodule.own.update', '!touch $HOME/ran');
  git(project.app, 'config', 'submodule.ext.url', 'ext::touch $HOME/ran');
  project.commit();
  const dir = await project.copy();
  project.git(
    dir,
    '-c',
    'protocol.file.allow=always',
    'submodule',
    '--quiet',
    'update',
    '--init',
    'lib',
  );
  expect(existsSync(join(dir, 'lib', 'readme'))).toBe(true);
  const settings = project.git(dir, 'config', '--local', '--list');
  expect(settings).toContain('submodule.own.url=https://mirror.example/own.git\n');
  expect(settings).not.toMatch(/ext::|update=/);
});
