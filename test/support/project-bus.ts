import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from './bus.ts';
import { command, type Ran, type RunOptions } from './command.ts';
import { git } from './git.ts';

export const REF = 'refs/crosstalk/bus';

/** Somebody who works in a clone of a project, with a home folder of their own. */
export class Person {
  readonly home: string;
  app: string;
  readonly name: string;

  constructor(root: string, name: string, remote: string) {
    this.name = name;
    this.home = join(root, `${name}-home`);
    this.app = join(root, `${name}-app`);
    mkdirSync(this.home);
    git(root, 'clone', '--quiet', remote, this.app);
  }

  run(...argv: string[]): Promise<Ran> {
    return this.runIn(this.app, {}, ...argv);
  }

  runIn(cwd: string, options: Partial<RunOptions>, ...argv: string[]): Promise<Ran> {
    const env = {
      HOME: this.home,
      XDG_STATE_HOME: join(this.home, 'state'),
      XDG_DATA_HOME: join(this.home, 'data'),
    };
    return command(argv, { cwd, ...options, env: { ...env, ...options.env } });
  }

  async init(...options: string[]): Promise<Ran> {
    const own = ['--cli', 'cat >/dev/null; echo answered', '--from', this.name, '--no-sandbox'];
    return this.run('init', ...own, '--alias', this.name, '--actor', `${this.name}s`, ...options);
  }

  /** The text of this machine's host file on the bus. */
  hostFile(hub: string): string {
    return git(hub, 'show', `${REF}:hosts/${this.name}.md`);
  }
}

/** A project with one commit, at a bare remote, with a first clone. */
export function project(): { root: string; hub: string; anna: Person } {
  const root = scratch();
  const hub = join(root, 'hub.git');
  git(root, 'init', '--quiet', '--bare', '--initial-branch=main', hub);
  const anna = new Person(root, 'anna', hub);
  git(anna.app, 'checkout', '--quiet', '-b', 'main');
  writeFileSync(join(anna.app, 'readme'), 'hello\n');
  git(anna.app, 'add', '.');
  git(anna.app, 'commit', '--quiet', '-m', 'first');
  git(anna.app, 'push', '--quiet', 'origin', 'main');
  return { root, hub, anna };
}
