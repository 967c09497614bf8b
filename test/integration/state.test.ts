import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';

const FILES = [
  'cursors.json',
  'heartbeat.json',
  'census.json',
  'run-budget.json',
  'dispatcher.lock',
  'writer.lock',
  'host-file.md',
  'outbox/01J0000000000000000000000A.json',
  'dead-letters/01J0000000000000000000000B.json',
  'runs/01J0000000000000000000000C.json',
];
const CONTENTS = [
  ['empty', ''],
  ['truncated', '{"version":1,"actors":{"worker":{"thr'],
  ['garbage', '\u0000\u0001\uFFFD not json'],
  ['null', 'null'],
  ['a list', '[1]'],
  [
    'from a newer version',
    '{"version":99,"actors":"elsewhere","pid":"many","hosts":7,"tip":12,"channels":[],"commits":{},"id":"x","process":[]}',
  ],
] as const;

/** The bus works: a message is sent, delivered and answered, and status can say how things are. */
async function works(host: Host): Promise<void> {
  const question = await host.send('worker', 'are you there?');
  await host.once();
  expect((await host.run('replies', question)).out).toContain('  done');
  const status = await host.run('status');
  expect([status.code, status.out.split('\n')[0]]).toEqual([
    0,
    expect.stringMatching(/^(healthy|stuck: )/),
  ]);
}

it.each(FILES.map((file) => [file]))(
  '%s that is empty, cut off, garbage or of a newer version stops nothing',
  async (file) => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await works(host);
    for (const [, content] of CONTENTS) {
      mkdirSync(join(host.state, file, '..'), { recursive: true });
      writeFileSync(join(host.state, file), content);
      await works(host);
    }
  },
);

it('an outbox entry that cannot be read is set aside, kept, and reported', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  mkdirSync(join(host.state, 'outbox'), { recursive: true });
  writeFileSync(join(host.state, 'outbox', '01J0000000000000000000000A.json'), '{"half');
  await works(host);
  expect((await host.run('status')).out).toContain(
    '01J0000000000000000000000A.json.broken could not be read and was set aside',
  );
});

it('approvals that cannot be read approve nothing: commands wait until they are approved again', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await works(host);
  for (const [, content] of CONTENTS) {
    writeFileSync(join(host.state, 'approvals.json'), content);
    const question = await host.send('worker', 'hello');
    const log = await host.once();
    expect(log.map(({ event }) => event)).toContain('host_change_held');
    expect((await host.run('replies', question)).out).toMatch(/^PENDING/);
    await host.run('host', 'approve', '--host', 'front');
    await host.once();
    expect((await host.run('replies', question)).out).toContain('  done');
  }
});

it('the whole state directory may be deleted: what is unanswered is delivered, nothing else', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await works(host);
  execFileSync('rm', ['-rf', host.state]);
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
  await works(host);
});

it('the state directory and the socket are the user’s alone', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const program = new Program(host, 'dispatch', '--host', 'front');
  await program.saw('tick');
  const mode = (path: string): string =>
    (statSync(join(host.state, path)).mode & 0o777).toString(8);
  expect([mode(''), mode('wake.sock')]).toEqual(['700', '600']);
  await program.stop('SIGTERM');
});

it('two dispatchers started at once: one serves, the other says who does', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const both = [1, 2].map(() => new Program(host, 'dispatch', '--host', 'front'));
  const loser = await Promise.race(
    both.map(async (program) => {
      await program.ended();
      return program;
    }),
  );
  expect(loser.err).toContain('another dispatcher serves');
  const winner = both.find((program) => program !== loser)!;
  await winner.saw('tick');
  expect(await winner.stop('SIGTERM')).toBe(0);
});

describe.skipIf(!canMount())(
  `on a full disk${canMount() ? '' : ' (skipped: tmpfs cannot be mounted here)'}`,
  () => {
    it('nothing is called sent, no CLI is paid for in vain, and all goes on once there is room', async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: `echo run >> ${bus.root}/runs; echo done` });
      mkdirSync(host.state);
      mount(host.state, 'size=512k');
      await host.run('pause');
      const running = host.start();
      await running.saw('parked');
      const question = await host.send('worker', 'waits for room');
      const filler = join(host.state, 'filler');
      execFileSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null; true`]);

      const refused = await host.run('send', '--to', 'worker', 'no room for this');
      expect([refused.code, refused.out]).toEqual([1, '']);
      expect(refused.err).toMatch(/^crosstalk send: .*ENOSPC.*\n$/m);
      await host.run('resume');
      await running.saw('internal_error', ({ error }) => String(error).includes('ENOSPC'));
      expect(existsSync(join(bus.root, 'runs'))).toBe(false);

      execFileSync('rm', [filler]);
      expect((await host.run('replies', '--wait', '--timeout', '20', question)).out).toContain(
        '  done',
      );
      await running.stop();
      expect(readFileSync(join(bus.root, 'runs'), 'utf8')).toBe('run\n');
    });

    it('a state directory that may only be read is said so, and nothing is called sent', async () => {
      const host = await new Bus().host('front', { worker: 'echo done' });
      mkdirSync(host.state);
      mount(host.state, 'size=256k,ro');
      const refused = await host.run('send', '--to', 'worker', 'hello');
      expect([refused.code, refused.out]).toEqual([1, '']);
      expect(refused.err).toMatch(
        /^crosstalk send: cannot write to the state directory .*; nothing was sent: make room, .*\n$/m,
      );
    });

    it('a clone without room queues the message', async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: 'echo done' });
      const objects = join(host.dir, '.git', 'objects');
      const saved = execFileSync('tar', ['-C', objects, '-cf', '-', '.']);
      mount(objects, 'size=2m');
      execFileSync('tar', ['-C', objects, '-xf', '-'], { input: saved });
      execFileSync('sh', ['-c', `cat /dev/zero > ${join(objects, 'filler')} 2>/dev/null; true`]);
      expect((await host.run('send', '--to', 'worker', 'hello')).out).toMatch(/^Queued: /);
      execFileSync('rm', [join(objects, 'filler')]);
      expect((await host.run('sync')).out).toContain('Pushed: 1');
      expect(readdirSync(join(host.state, 'outbox'))).toEqual([]);
    });
  },
);

function mount(path: string, options: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
  onTestFinished(() => {
    execFileSync('umount', ['-l', path]);
  });
}

function canMount(): boolean {
  try {
    const probe = join(process.env['TMPDIR'] ?? '/tmp', 'probe');
    mkdirSync(probe, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', probe], { stdio: 'ignore' });
    execFileSync('umount', [probe]);
    return true;
  } catch {
    return false;
  }
}
