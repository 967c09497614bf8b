import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { OBEYS, Project, script } from '../support/project.ts';
import { until } from '../support/wait.ts';
import { buildDoomed, startDoomed } from './doomed-process.ts';

beforeAll(buildDoomed);

const COMMIT = 'echo x >> work; git add .; git commit -qm work; ls | tr "\\n" " "';

/** A machine whose dispatcher something in `root` can kill: its process id is in a file. */
class Machine {
  readonly project = new Project();
  readonly root = this.project.bus.root;
  readonly at = (name: string): string => join(this.root, name);
  /** Kills the dispatcher once, and goes on when it is told to. */
  readonly killer = `if [ -e ${this.at('armed')} ]; then rm ${this.at('armed')}; kill -9 $(cat ${this.at('pid')}); until [ -e ${this.at('go')} ]; do sleep 0.05; done; fi`;

  /** Runs a dispatcher until it is killed. */
  async killed(host: Host): Promise<void> {
    writeFileSync(this.at('armed'), '');
    const doom = { point: 'none', count: 1, ledger: '', onEvent: () => undefined } as const;
    const { child, ended } = startDoomed(host, doom);
    writeFileSync(this.at('pid.new'), String(child.pid));
    execFileSync('mv', [this.at('pid.new'), this.at('pid')]);
    expect(await ended).toBe('SIGKILL');
    expect(existsSync(this.at('armed'))).toBe(false);
  }

  /** What is beside the copies of threads. */
  beside(host: Host): string[] {
    return readdirSync(join(host.state, 'worktrees'), { recursive: true, encoding: 'utf8' });
  }
}

it(
  'a git that outlives its dispatcher while it makes a copy does no harm to the copy that is made anew',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const { project } = machine;
    const host = await project.host({ dev: { default: { cli: OBEYS, worktree: project.app } } });
    const before = project.original;
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    mkdirSync(machine.at('bin'));
    const pidFile = `until [ -e ${machine.at('pid')} ]; do sleep 0.05; done`;
    const late = `${pidFile}; ${machine.killer}; '${real}' "$@"; touch ${machine.at('over')}; exit`;
    const wrapper = `#!/bin/sh\nif [ -e ${machine.at('armed')} ]; then case "$*" in *--dissociate*) ${late};; esac; fi\nexec '${real}' "$@"\n`;
    writeFileSync(machine.at('bin/git'), wrapper, { mode: 0o755 });
    host.env['PATH'] = `${machine.at('bin')}:${process.env['PATH'] ?? ''}`;
    await host.send('dev', script(COMMIT));
    await machine.killed(host);
    await project.pass(host);
    writeFileSync(machine.at('go'), '');
    await until('the git of the dead dispatcher', () => existsSync(machine.at('over')));
    const [answer, ...more] = project.bus.from('dev');
    expect(more).toEqual([]);
    await host.run('reply', answer?.relPath ?? '', script(COMMIT));
    await project.pass(host);
    const last = project.bus.from('dev').at(-1)?.message;
    expect(last?.body).toContain('readme work');
    expect(last?.branch?.changed).toBe(1);
    expect(git(project.app, 'show', `${last?.branch?.name ?? ''}:work`)).toBe('x\nx\n');
    // What it has left goes with the copy.
    expect((await host.run('worktree', 'prune')).out).toContain('Removed: ');
    expect(machine.beside(host).filter((name) => name.includes('.making'))).toEqual([]);
    expect(project.original).toBe(before);
    git(project.app, 'fsck', '--strict');
  },
);

it(
  'a copy whose preparation was cut off with its dispatcher is made anew, and what prepared it is ended',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const { project } = machine;
    const wait = `until [ -e ${machine.at('pid')} ]; do sleep 0.05; done`;
    const note = `echo $$ >> ${machine.at('prepared')}`;
    const prepare = `${note}; if [ -e ${machine.at('armed')} ]; then ${wait}; fi; ${machine.killer}; test ! -e half; echo x > half`;
    const dev = { cli: OBEYS, worktree: project.app, before: prepare };
    const host = await project.host({ dev: { default: dev } });
    await host.send('dev', script(COMMIT));
    await machine.killed(host);
    await project.pass(host);
    expect(project.bus.from('dev')).toHaveLength(1);
    expect(project.bus.from('dev')[0]?.message.body).toContain('half readme work');
    const pids = readFileSync(machine.at('prepared'), 'utf8').trim().split('\n').map(Number);
    expect(pids).toHaveLength(2);
    await until('the end of what prepared the first copy', () => !isAlive(pids[0] ?? 0));
    writeFileSync(machine.at('go'), '');
  },
);

it(
  'the lock of a branch that a killed process has left is taken away, and the branch is moved',
  { tags: 'long' },
  async () => {
    const { project } = new Machine();
    const host = await project.host({ dev: { default: { cli: OBEYS, worktree: project.app } } });
    await host.send('dev', script(COMMIT));
    await project.pass(host);
    const branch = project.branches()[0] ?? '';
    const lock = join(project.app, '.git/refs/heads', `${branch}.lock`);
    writeFileSync(lock, '');
    const recently = new Date(Date.now() - 8000);
    utimesSync(lock, recently, recently);
    await host.run('reply', project.bus.from('dev')[0]?.relPath ?? '', script(COMMIT));
    await project.pass(host);
    const last = project.bus.from('dev').at(-1)?.message.branch;
    expect(last?.held).toBeUndefined();
    expect(git(project.app, 'rev-parse', branch).trim()).toBe(last?.commit);
    expect(existsSync(lock)).toBe(false);
  },
);

it('a copy whose record was lost is left alone, and another one is made beside it', async () => {
  const machine = new Machine();
  const { project } = machine;
  const host = await project.host({ dev: { default: { cli: OBEYS, worktree: project.app } } });
  await host.send('dev', script('echo precious > precious'));
  await project.pass(host);
  const [{ dir }] = JSON.parse((await host.run('worktree', 'list', '--json')).out) as [
    { dir: string },
  ];
  // As a disk that was full, or lost its power, may leave it.
  writeFileSync(`${dir}.json`, '');
  await host.run('reply', project.bus.from('dev')[0]?.relPath ?? '', script(COMMIT));
  await project.pass(host);
  expect(readFileSync(join(dir, 'precious'), 'utf8')).toBe('precious\n');
  expect(project.bus.from('dev').at(-1)?.message.branch?.name).toMatch(/-2$/);
  rmSync(dir, { recursive: true });
});

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${String(pid)}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
