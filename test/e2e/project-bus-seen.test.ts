import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { Person, project, REF } from '../support/project-bus.ts';

/** Every hook that git knows in a clone. */
const HOOKS = [
  ...['applypatch-msg', 'pre-applypatch', 'post-applypatch', 'pre-commit', 'pre-merge-commit'],
  ...['prepare-commit-msg', 'commit-msg', 'post-commit', 'pre-rebase', 'post-checkout'],
  ...['post-merge', 'pre-push', 'reference-transaction', 'pre-auto-gc', 'post-rewrite'],
  ...['post-index-change', 'fsmonitor-watchman'],
];

/** A project whose bus was made by anna, who has hooks of her own, with some mail; and a colleague's clone. */
class Scene {
  readonly root: string;
  readonly hub: string;
  readonly anna: Person;
  readonly colleague: string;
  /** The file that a hook of a clone makes. */
  readonly trace: string;
  /** The file in which a hook of the remote writes what is pushed. */
  readonly pushed: string;
  readonly #settings: string;

  constructor() {
    const { root, hub, anna } = project();
    this.root = root;
    this.hub = hub;
    this.anna = anna;
    this.colleague = join(root, 'colleague');
    this.trace = join(root, 'trace');
    this.pushed = join(root, 'pushed');
    this.#settings = join(root, 'settings');
    const own = join(root, 'own-hooks');
    writeFileSync(this.#settings, `[core]\n\thooksPath = ${own}\n`);
    for (const folder of [own, join(anna.app, '.git/hooks')])
      for (const name of HOOKS) hook(folder, name, `echo ${name} >> '${this.trace}'`);
    // A remote in a folder would read anna's settings too, which one elsewhere does not.
    git(hub, 'config', 'core.hooksPath', join(hub, 'hooks'));
    hook(join(hub, 'hooks'), 'post-receive', `cut -d ' ' -f 3 >> '${this.pushed}'`);
    git(root, 'clone', '--quiet', hub, this.colleague);
  }

  /** Runs a command of anna, whose own settings of git name a folder of hooks. */
  say(...argv: string[]): Promise<Ran> {
    return this.anna.runIn(this.anna.app, { env: { GIT_CONFIG_GLOBAL: this.#settings } }, ...argv);
  }

  async done(...argv: string[]): Promise<Ran> {
    const ran = await this.say(...argv);
    expect(ran.code, ran.err).toBe(0);
    return ran;
  }

  /** The commit of the bus at the remote; empty without one. */
  get tip(): string {
    return git(this.hub, 'for-each-ref', '--format=%(objectname)', REF).trim();
  }

  /** Fails if a clone knows anything of the bus. */
  seesNothing(clone: string): void {
    expect(git(clone, 'for-each-ref')).not.toContain('crosstalk');
    expect(git(clone, 'status', '--porcelain=v2', '--branch', '--ignored')).not.toContain('cross');
    expect(git(clone, 'branch', '--all')).not.toContain('crosstalk');
    expect(git(clone, 'log', '--all', '--format=%s')).toBe('first\n');
    expect(() => git(clone, 'cat-file', '-e', this.tip)).toThrow();
  }
}

function hook(folder: string, name: string, line: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** Whether a message of the bus at the remote says something. */
function grep(hub: string, text: string): boolean {
  return git(hub, 'log', '--format=', '--name-only', '-S', text, REF) !== '';
}

/** What is to be seen, by the first cell of the row of docs/concepts/project-bus.md that says so. */
const SEEN: Record<string, (scene: Scene) => Promise<void> | void> = {
  '`git status`, `git branch --all`, `git log --all`': (scene) => {
    scene.seesNothing(scene.anna.app);
    scene.seesNothing(scene.colleague);
  },
  'hooks of the clone, or of your own settings': async (scene) => {
    rmSync(scene.trace, { force: true });
    await scene.done('send', '--to', 'annas', 'hello');
    await scene.done('dispatch', '--once');
    await scene.done('sync');
    expect((await scene.say('log')).out).toContain('answered');
    expect(existsSync(scene.trace)).toBe(false);
  },
  'hooks of the remote': async (scene) => {
    rmSync(scene.pushed, { force: true });
    await scene.done('send', '--to', 'nobody', 'hello', '--anyway');
    expect(readFileSync(scene.pushed, 'utf8')).toMatch(/^(?:refs\/crosstalk\/bus\n)+$/);
  },
  '`git clone`, `git fetch`, `git fetch --prune`, `git fetch --all --tags`': (scene) => {
    const fresh = join(scene.root, 'fresh');
    // As from elsewhere: on one disk git copies the folder of all objects.
    git(scene.root, 'clone', '--quiet', `file://${scene.hub}`, fresh);
    for (const clone of [fresh, scene.colleague, scene.anna.app]) {
      for (const how of [[], ['--prune'], ['--all', '--tags']])
        git(clone, 'fetch', '--quiet', ...how);
      scene.seesNothing(clone);
    }
  },
  '`git ls-remote`': ({ colleague }) => {
    const refs = git(colleague, 'ls-remote').trim().split('\n');
    expect(refs.map((line) => line.split('\t')[1])).toEqual(['HEAD', REF, 'refs/heads/main']);
  },
  '`git push --all`, `git push --tags`': (scene) => {
    const before = scene.tip;
    for (const how of ['--all', '--tags']) git(scene.colleague, 'push', '--quiet', how);
    expect(scene.tip).toBe(before);
    expect(before).not.toBe('');
  },
  '`git gc`': async (scene) => {
    for (const clone of [scene.anna.app, scene.colleague, scene.hub])
      git(clone, 'gc', '--quiet', '--prune=now');
    scene.seesNothing(scene.colleague);
    git(scene.hub, 'fsck', '--strict');
    await scene.done('sync');
    await scene.done('send', '--to', 'annas', 'after gc');
  },
  '`git clone --mirror`': async (scene) => {
    const mirror = join(scene.root, 'mirror.git');
    git(scene.root, 'clone', '--quiet', '--mirror', scene.hub, mirror);
    await scene.done('send', '--to', 'annas', 'into the mirror');
    git(mirror, 'fetch', '--quiet', '--prune');
    expect(git(mirror, 'rev-parse', REF).trim()).toBe(scene.tip);
    const refused = await new Person(scene.root, 'mia', mirror).init();
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is a copy here')]);
  },
  '`git push --mirror` from such a copy': async (scene) => {
    const mirror = join(scene.root, 'older.git');
    git(scene.root, 'clone', '--quiet', '--mirror', scene.hub, mirror);
    await scene.done('send', '--to', 'annas', 'later than the copy');
    git(mirror, 'push', '--quiet', '--mirror');
    const isThere = (): boolean => grep(scene.hub, 'later than the copy');
    expect(isThere()).toBe(false);
    await scene.done('dispatch', '--once');
    expect(isThere()).toBe(true);
  },
  '`git push --mirror` from any other clone': async (scene) => {
    const before = scene.tip;
    git(scene.colleague, 'push', '--quiet', '--mirror', scene.hub);
    expect(scene.tip).toBe('');
    const gone = await scene.say('sync');
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('sync --recreate')]);
    await scene.done('sync', '--recreate');
    expect(git(scene.hub, 'merge-base', '--is-ancestor', before, REF)).toBe('');
  },
};

it('each command sees of the bus in a project what the table of its page says', async () => {
  const page = readFileSync('docs/concepts/project-bus.md', 'utf8');
  const [, table = ''] = page.split('| what somebody says |');
  const rows = [...table.matchAll(/^\| (.*?) \|/gm)].map(([, cell = '']) => cell).slice(1);
  expect(rows).toEqual(Object.keys(SEEN));
  const scene = new Scene();
  const own = ['--cli', 'cat >/dev/null; echo answered', '--from', 'anna', '--no-sandbox'];
  await scene.done('init', ...own, '--alias', 'anna', '--actor', 'annas');
  expect(existsSync(scene.trace)).toBe(false);
  for (const row of rows) await SEEN[row]?.(scene);
});
