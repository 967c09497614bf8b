import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { plantRow, rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';
import { sample } from '../support/form.ts';

const FILES = [
  'state.db',
  'heartbeat.json',
  'index.db',
  'dispatcher.lock',
  'writer.lock',
  'host-file.md',
];
/** Items of the database: the kind, and the id. */
const ROWS = [
  ['cursors', ''],
  ['run-start', 'worker default'],
  ['hold', 'codex'],
  ['outbox', '01J0000000000000000000000A'],
  ['dead-letter', '01J0000000000000000000000B'],
  ['run', '01J0000000000000000000000C'],
] as const;
/** What commands read besides. */
const FOLDERS = ['seen.json', 'heartbeat.json'];
const CONTENTS = [
  ['empty', ''],
  ['truncated', '{"version":1,"actors":{"worker":{"thr'],
  ['garbage', '\u0000\u0001\uFFFD not json'],
  ['null', 'null'],
  ['a list', '[1]'],
  [
    'from a newer version',
    '{"version":99,"actors":"elsewhere","pid":"many","hosts":7,"tip":12,"channels":[],"holds":[{"id":3}],"commits":{},"id":"x","process":[]}',
  ],
] as const;

/** The bus works: a message is sent, delivered and answered, and status can report the state. */
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

it.each(sample(FILES.map((file) => [file])))(
  '%s that is empty, cut off, garbage or of a newer version stops nothing',
  { tags: 'sampled' },
  async (file) => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await works(host);
    for (const [, content] of CONTENTS) {
      // What this process has open is not opened again by its path, as to close that takes the locks away.
      for (const part of file === 'state.db' ? ['', '-wal', '-shm'] : [])
        rmSync(join(host.state, `${file}${part}`), { force: true });
      writeFileSync(join(host.state, file), content);
      await works(host);
    }
  },
);

it.each(sample(ROWS))(
  'a row of %s (%s) that is empty, cut off, garbage or of a newer version stops nothing',
  { tags: 'sampled' },
  async (kind, id) => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await works(host);
    for (const [, content] of CONTENTS) {
      plantRow(host.state, kind, id, content);
      await works(host);
      const name = ['state.db', kind, encodeURIComponent(id), 'broken'].filter(Boolean).join('.');
      expect(readdirSync(host.state)).toContain(name);
      rmSync(join(host.state, name));
    }
  },
);

it.each(sample(FOLDERS.map((file) => [file])))(
  '%s that is a folder is set aside, and stops nothing',
  { tags: 'sampled' },
  async (file) => {
    const host = await new Bus().host('front', { worker: 'echo done' });
    await works(host);
    rmSync(join(host.state, file), { force: true });
    mkdirSync(join(host.state, file));
    writeFileSync(join(host.state, file, 'mine'), 'kept');
    for (const command of ['inbox', 'doctor', 'status'])
      expect((await host.run(command)).err).not.toMatch(/EISDIR/);
    await works(host);
    expect(readFileSync(join(host.state, `${file}.broken`, 'mine'), 'utf8')).toBe('kept');
  },
);

it('an outbox entry that cannot be read is set aside, kept, and reported', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  await works(host);
  plantRow(host.state, 'outbox', '01J0000000000000000000000A', '{"half');
  await works(host);
  const kept = 'state.db.outbox.01J0000000000000000000000A.broken';
  expect(readFileSync(join(host.state, kept), 'utf8')).toBe('{"half');
  expect((await host.run('status')).out).toContain(
    `${kept} could not be read, or was not written by this machine, and was set aside`,
  );
});

it(
  'approvals that cannot be read approve nothing: commands wait until they are approved again',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    await works(host);
    for (const [, content] of CONTENTS) {
      writeFileSync(join(host.state, 'approvals.json'), content);
      const question = await host.send('worker', 'hello');
      const log = await host.once();
      expect(log.map(({ event }) => event)).toContain('host_change_held');
      expect((await host.run('replies', question)).out).toMatch(/^PENDING/);
      await host.approve();
      await host.once();
      expect((await host.run('replies', question)).out).toContain('  done');
    }
  },
);

it('the whole state directory may be deleted: what is unanswered is delivered, nothing else', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await works(host);
  execFileSync('rm', ['-rf', host.state]);
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
  // Nothing is approved here any more.
  expect(log.find(({ event }) => event === 'host_change_held')).toBeDefined();
  await host.approve();
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

it('doctor says that the state directory is yours alone', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  expect((await host.run('doctor')).out).toContain('ok    state directory: yours alone');
});

it('a clock that jumps a day ahead and then two days back loses nothing, repeats nothing and stops nothing', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: 'echo done',
    flaky: {
      default: {
        cli: `test -e ${bus.root}/mended && echo done`,
        attempts: 3,
        retry_delay: '1h',
      },
    },
  });
  const clock = join(bus.root, 'clock');
  const set = (hours: number): void => {
    writeFileSync(clock, String(hours * 3600));
  };
  set(0);
  const shifted = {
    dir: host.dir,
    env: {
      ...host.env,
      CLOCK_OFFSET_FILE: clock,
      NODE_OPTIONS: `--require ${fileURLToPath(new URL('../support/shifted-clock.cjs', import.meta.url))}`,
    },
  };
  const run = async (...argv: string[]): Promise<string> => {
    const program = new Program(shifted, ...argv);
    await program.ended();
    return program.out;
  };
  const dispatcher = new Program(shifted, 'dispatch', '--host', 'front', '--interval', '0.2');
  await dispatcher.saw('tick');
  const failing = await run('send', '--to', 'flaky', 'x');
  await dispatcher.saw('dead_letter');
  writeFileSync(join(bus.root, 'mended'), '');
  const sent = [failing];
  for (const hours of [0, 24, -24]) {
    set(hours);
    const question = await run('send', '--to', 'worker', 'x');
    const relPath = question.replace(/^Sent: /, '').trim();
    expect(await run('replies', '--wait', '--timeout', '100', relPath)).toContain('  done');
    sent.push(question);
    // The hour of the failed delivery is over as soon as the clock is a day ahead.
    if (hours === 24)
      await dispatcher.saw('dispatch_done', (event) => failing.includes(String(event['messages'])));
  }
  expect(await run('status')).toMatch(/^healthy/);
  await dispatcher.stop('SIGTERM');
  const answered = bus.messages().flatMap(({ message }) => message.re);
  expect(answered.sort()).toEqual(sent.map((line) => line.replace('Sent: ', '').trim()).sort());
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
      onDisk(host.state, 'size=16m');
      await host.run('pause');
      const running = host.start();
      await running.saw('parked');
      const question = await host.send('worker', 'waits for room');
      // What the dispatcher still holds would make room when it lets go of it.
      await until('the end of the push', () =>
        existsSync(join(host.state, 'writer.lock')) ? undefined : true,
      );
      const filler = join(host.state, 'filler');
      let full = 0;
      await until('a disk that stays full', () => {
        execFileSync('sh', ['-c', `cat /dev/zero >> ${filler} 2>/dev/null; true`]);
        full = statfsSync(host.state).bavail === 0 ? full + 1 : 0;
        return full === 20;
      });

      const refused = await host.run('send', '--to', 'worker', 'no room for this');
      expect([refused.code, refused.out]).toEqual([1, '']);
      expect(refused.err).toMatch(/^crosstalk send: .*ENOSPC.*\n$/m);
      const resumed = await host.run('resume');
      expect([resumed.code, resumed.out]).toEqual([1, '']);
      expect(resumed.err).toMatch(/^crosstalk resume: .*ENOSPC.*\n$/m);
      // Room for that, and not for what a CLI says.
      truncateSync(filler, statSync(filler).size - 2 ** 20);
      expect((await host.run('resume')).code).toBe(0);
      await running.saw('internal_error', ({ error }) => String(error).includes('ENOSPC'));
      expect(existsSync(join(bus.root, 'runs'))).toBe(false);

      execFileSync('rm', [filler]);
      expect((await host.run('replies', '--wait', '--timeout', '100', question)).out).toContain(
        '  done',
      );
      await running.stop();
      expect(readFileSync(join(bus.root, 'runs'), 'utf8')).toBe('run\n');
    });

    it('a state directory that may only be read is said so, and nothing is called sent', async () => {
      const host = await new Bus().host('front', { worker: 'echo done' });
      mount(host.state, 'size=256k,ro');
      const refused = await host.run('send', '--to', 'worker', 'hello');
      expect([refused.code, refused.out]).toEqual([1, '']);
      expect(refused.err).toMatch(
        /^crosstalk send: cannot write to the state directory .*; nothing was sent: make room, .*\n$/m,
      );
    });

    it('a dispatcher that cannot start for want of room says in one line to make room', async () => {
      const host = await new Bus().host('front', { worker: 'echo done' });
      const filler = onSmallDisk(host.state);
      const refused = await host.run('dispatch', '--once', '--host', 'front');
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(
          /^crosstalk dispatch: ENOSPC: [^\n]*: make room, and try again; nothing sent is lost\n$/,
        ),
      ]);
      execFileSync('rm', [filler]);
      await host.once();
    });

    it('a remote without room queues the message', async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: 'echo done' });
      const filler = onSmallDisk(join(bus.hub, 'objects'));
      expect((await host.run('send', '--to', 'worker', 'hello')).out).toMatch(/^Queued: /);
      execFileSync('rm', [filler]);
      expect((await host.run('sync')).out).toContain('Pushed: 1');
    });

    it('a clone without room queues the message', async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: 'echo done' });
      const filler = onSmallDisk(join(host.dir, '.git', 'objects'));
      expect((await host.run('send', '--to', 'worker', 'hello')).out).toMatch(/^Queued: /);
      execFileSync('rm', [filler]);
      expect((await host.run('sync')).out).toContain('Pushed: 1');
      expect(rowsIn(host.state, 'outbox')).toEqual([]);
    });

    it('a folder without room for an attached file has nothing of it', async () => {
      const bus = new Bus();
      const host = await bus.host('front', { worker: 'echo done' });
      const [large, out] = [join(bus.root, 'large'), join(bus.root, 'out')];
      writeFileSync(large, Buffer.alloc(200_000, 'x'));
      mkdirSync(out);
      mount(out, 'size=64k');
      const relPath = await host.send('worker', 'look', '--attach', large);
      const read = await host.run('read', relPath, '--files', out);
      expect([read.code, read.out]).toEqual([1, '']);
      expect(read.err).toMatch(/"large".*cannot be written to .*\/large: ENOSPC/);
      expect(readdirSync(out)).toEqual([]);
    });
  },
);

/** Moves a folder onto a disk that is full; the path of the file that fills it. */
function onSmallDisk(folder: string): string {
  onDisk(folder, 'size=2m');
  const filler = join(folder, 'filler');
  execFileSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null; true`]);
  return filler;
}

/** Moves a folder onto a disk of its own. */
function onDisk(folder: string, options: string): void {
  const saved = execFileSync('tar', ['-C', folder, '-cf', '-', '.']);
  mount(folder, options);
  execFileSync('tar', ['-C', folder, '-xf', '-'], { input: saved });
}

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

it('where hard links are refused, commands make one key and wait for one another all the same', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {});
  const refusing = join(bus.root, 'refusing.cjs');
  writeFileSync(
    refusing,
    `require('fs').linkSync = () => {
      throw Object.assign(new Error('EACCES: permission denied, link'), { code: 'EACCES' });
    };\n`,
  );
  for (const name of ['state.key', 'approvals.json']) rmSync(join(host.state, name));
  // A command that was killed has left these.
  writeFileSync(
    join(host.state, 'writer.lock'),
    JSON.stringify({ pid: 2 ** 22 + 1, started: '1' }),
  );
  const env = { ...host.env, NODE_OPTIONS: `--require=${refusing}` };
  const sends = ['one', 'two', 'three'].map(
    (text) => new Program({ dir: host.dir, env }, 'send', '--to', 'nobody', text),
  );
  for (const send of sends) expect([await send.ended(), send.err]).toEqual([0, expect.any(String)]);
  expect(sends.map(({ out }) => out.slice(0, 6))).toEqual(['Sent: ', 'Sent: ', 'Sent: ']);
  expect(bus.messages()).toHaveLength(3);
  const left = readdirSync(host.state).filter((name) => /\.(?:guard|tmp|broken)$/.test(name));
  expect(left).toEqual([]);
});
