import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bus, events, type Actors, type Event, type Host } from './bus.ts';
import { expect } from 'vitest';
import { digestOf } from './folder-digest.ts';
import { git } from './git.ts';

/** Passes by which nothing of a repository may change but its objects and the branches of threads. */
const OF_THREADS = /^\.git\/(?:objects|refs\/heads\/crosstalk|logs\/refs\/heads\/crosstalk)/;

/** What an actor does that does what it was told: from the line that begins a script on. */
export const OBEYS = `sed -n '/^#!/,$p' > "$CROSSTALK_RUN_DIR/script"; sh "$CROSSTALK_RUN_DIR/script"; echo done`;

/** A repository on a machine, in copies of which its actors work. */
export class Project {
  readonly bus: Bus;
  readonly app: string;

  constructor(bus = new Bus()) {
    this.bus = bus;
    this.app = join(bus.root, 'app');
    mkdirSync(this.app);
    git(this.app, 'init', '--quiet', '--initial-branch=main');
    writeFileSync(join(this.app, 'readme'), 'hello\n');
    this.commit('first');
  }

  /** A machine whose runs can commit. */
  async host(actors: Actors, alias = 'front'): Promise<Host> {
    const host = await this.bus.host(alias, actors);
    for (const role of ['AUTHOR', 'COMMITTER'])
      Object.assign(host.env, {
        [`GIT_${role}_NAME`]: 'a',
        [`GIT_${role}_EMAIL`]: 'a@example.com',
      });
    return host;
  }

  commit(subject: string): void {
    git(this.app, 'add', '.');
    git(this.app, '-c', 'user.name=o', '-c', 'user.email=o@example.com', 'commit', '-qm', subject);
  }

  /** What must never change: everything of the original but its objects and the branches of threads. */
  get original(): string {
    return digestOf(this.app, (path) => !OF_THREADS.test(path));
  }

  branches(): string[] {
    return git(this.app, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/crosstalk')
      .split('\n')
      .filter(Boolean);
  }

  /** One pass of the dispatcher of a machine. */
  async pass(host: Host): Promise<Event[]> {
    const ran = await host.run('dispatch', '--once', '--host', host.alias);
    expect(ran.code, ran.err).toBe(0);
    return events(ran.err);
  }
}

/** A task for an actor that {@link OBEYS}. */
export function script(...lines: string[]): string {
  return ['#!/bin/sh', ...lines].join('\n');
}
