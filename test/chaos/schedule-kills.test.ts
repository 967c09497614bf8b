import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { PATIENCE_MS } from './chaos-bus.ts';
import { buildDoomed, killedAt, settle } from './doomed-process.ts';
import { sample } from '../support/form.ts';
import { forget } from '../support/rows.ts';

beforeAll(buildDoomed);

const MINUTE_MS = 60_000;

/** A machine on which a schedule has been due for a minute, by a file that is there for half an hour. */
async function overdue(): Promise<{ bus: Bus; host: Host; due: string }> {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat > /dev/null; echo done' });
  // From now on there are cursors, so that only what is new is looked at.
  await host.once();
  const due = new Date(Date.now() - MINUTE_MS).toISOString();
  const text = `---\nhost: front\nto: worker\nat: ${due}\n---\nwhat is new?\n`;
  const clone = join(bus.root, 'by-hand');
  git(bus.root, 'clone', '--quiet', bus.hub, clone);
  const folder = join(clone, 'local', 'schedules');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'once.md'), text);
  git(clone, 'add', '--', 'local/schedules/once.md');
  const date = new Date(Date.now() - 30 * MINUTE_MS).toISOString();
  const who = ['-c', 'user.name=o', '-c', 'user.email=o@example.com'];
  execFileSync('git', ['-C', clone, ...who, 'commit', '-qm', 'schedule'], {
    env: { ...process.env, GIT_COMMITTER_DATE: date },
  });
  git(clone, 'push', '--quiet');
  writeFileSync(join(bus.root, 'ledger'), '');
  return { bus, host, due };
}

const POINTS = ['schedule_queued', 'schedule_recorded', 'pushed', 'outbox_removed'] as const;

it.each(
  sample([
    ...POINTS.map((point) => [point, 1] as const),
    ...[1, 2, 3, 4, 5, 6].flatMap((count) => [
      ['row_written', count] as const,
      ['row_committed', count] as const,
    ]),
  ]),
)(
  'a schedule whose dispatcher is killed at %s (%i) sends its occurrence once',
  { tags: 'sampled' },
  async (point, count) => {
    const { bus, host, due } = await overdue();
    expect(await killedAt(host, point, count)).toBe(true);
    await settle(host);
    const sent = bus.from('schedule');
    expect(sent.map(({ message }) => message.extra['due'])).toEqual([due]);
    const answers = bus.from('worker').filter(({ message }) => message.interim !== true);
    expect(answers.map(({ message }) => message.re)).toEqual([[sent[0]?.relPath]]);
  },
);

it.each(['with what it had queued', 'and had lost its outbox'])(
  'a machine that was copied after it was killed, %s, sends an occurrence once',
  async (how) => {
    const { bus, host, due } = await overdue();
    expect(await killedAt(host, 'schedule_queued', 1)).toBe(true);
    // A copy in another folder would count as another clone, so it takes the place of the first machine.
    const [dir, state] = [join(bus.root, 'copy'), join(bus.root, 'copy-state')];
    const filter = (path: string): boolean => !path.endsWith('.sock');
    cpSync(host.dir, dir, { recursive: true });
    cpSync(host.state, state, { recursive: true, filter });
    if (how.includes('lost')) forget(state, 'outbox');
    await settle(host);
    renameSync(host.dir, `${host.dir}-first`);
    renameSync(host.state, `${host.state}-first`);
    renameSync(dir, host.dir);
    renameSync(state, host.state);
    await settle(host);
    const sent = bus.from('schedule').map(({ message }) => message.extra['due']);
    expect(sent).toEqual([due]);
    expect(bus.from('worker')).toHaveLength(1);
    const status = await host.run('status', '--json');
    expect(JSON.parse(status.out)).toMatchObject({ set_aside: [], outbox: [] });
  },
  PATIENCE_MS,
);
