import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

const ENOUGH = 1024;

/** How many files a process may have open from now on. */
function limit(pid: number, files: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${String(files)}:${String(ENOUGH)}`]);
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
