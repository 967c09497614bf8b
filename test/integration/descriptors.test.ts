import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { ulid } from 'ulid';
import { expect, it } from 'vitest';
import type { Message } from '../../src/protocol/message.ts';
import { outgoing } from '../../src/protocol/outgoing.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

const ENOUGH = 1024;

/** How many files a process may have open from now on. */
function limit(pid: number, files: number, ever = ENOUGH): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${String(files)}:${String(ever)}`]);
}

/** Puts questions for some actors in turn into the outbox of a host. */
async function queue(host: Host, actors: readonly string[], count: number): Promise<void> {
  const outbox = new Outbox(host.state);
  const channel = host.channel();
  for (let at = 0; at < count; at++) {
    const to = [{ name: actors[at % actors.length] ?? '' }];
    const links = { re: [], cause: [], extra: {} };
    const timestamp = new Date().toISOString();
    const message: Message = { from: 'x', to, type: 'text', timestamp, ...links, body: 'hi' };
    const { commit } = outgoing(message, channel, 'front', String(at).padStart(16, '0'));
    await outbox.put({ id: ulid(), commits: [commit] });
  }
}

const canLimit = process.platform === 'linux' && hasPrlimit();

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version']);
    return true;
  } catch {
    return false;
  }
}

it.skipIf(!canLimit)(
  'a dispatcher that may open no more files goes on, and delivers once it may',
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const program = new Program(host, 'dispatch', '--host', 'front', '--interval', '1');
    await program.saw('host_file_loaded');
    const pid = program.child.pid ?? 0;
    // A git process needs six, or fewer where some are open already.
    for (const spare of [0, 2, 4, 6, 8]) {
      limit(pid, readdirSync(`/proc/${String(pid)}/fd`).length + spare);
      const sent = await host.run('send', '--to', 'worker', `with ${String(spare)} left`);
      expect(sent.code, sent.err).toBe(0);
      const [, relPath = ''] = /^(?:Sent|Queued): (\S+)/m.exec(sent.out) ?? [];
      limit(pid, ENOUGH);
      await until('the answer', () =>
        bus.from('worker').some(({ message }) => message.re.includes(relPath)),
      );
    }
    expect(bus.from('worker')).toHaveLength(5);
    expect(program.running).toBe(true);
    expect(program.err).not.toContain('    at ');
    expect(await program.stop('SIGTERM')).toBe(0);
  },
);

it.skipIf(!canLimit)(
  'a dispatcher that may open few files works slower, and says of none of its mail that it failed',
  async () => {
    const bus = new Bus();
    const names = Array.from({ length: 6 }, (_, at) => `worker${String(at)}`);
    const command = 'cat >/dev/null; sleep 0.1; echo done';
    const host = await bus.host('front', Object.fromEntries(names.map((one) => [one, command])));
    await queue(host, names, 70);
    const program = new Program(host, 'dispatch', '--host', 'front', '--interval', '1');
    limit(program.child.pid ?? 0, 64, 64);
    const answered = (): number =>
      bus.messages().filter(({ message }) => message.re.length > 0).length;
    await until('the answers', () => answered() === names.length);
    const told = program.events.map(({ event }) => event);
    expect(told.filter((event) => /error|failed|dead_letter/.test(event))).toEqual([]);
    expect(bus.messages()).toHaveLength(70 + names.length);
  },
);
