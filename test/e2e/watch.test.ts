import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ulid } from 'ulid';
import { agent } from '../support/agents.ts';
import { Bus, type Host } from '../support/bus.ts';
import type { Ran } from '../support/command.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { Slow } from '../support/slow.ts';
import { until } from '../support/wait.ts';

/** A `crosstalk watch` that goes on in this process. */
class Watch {
  out = '';
  err = '';
  readonly #stop = new AbortController();
  readonly done: Promise<Ran>;

  constructor(host: Host, ...args: string[]) {
    const options = {
      stop: this.#stop.signal,
      onOut: (text: string) => (this.out += text),
      onErr: (text: string) => (this.err += text),
    };
    this.done = host.runWith(options, 'watch', ...args);
  }

  shows(text: string): Promise<unknown> {
    return until(`${JSON.stringify(text)} in: ${this.out}`, () => this.out.includes(text));
  }

  says(text: string): Promise<unknown> {
    return until(`${JSON.stringify(text)} in: ${this.err}`, () => this.err.includes(text));
  }

  stop(): Promise<Ran> {
    this.#stop.abort();
    return this.done;
  }
}

const folder = (host: Host): string => join(host.state, 'transcripts');

/** The files of transcripts, with their sizes and modes. */
function files(host: Host): { name: string; size: number; mode: number; text: string }[] {
  return readdirSync(folder(host)).map((name) => {
    const path = join(folder(host), name);
    const { size, mode } = statSync(path);
    return { name, size, mode: mode & 0o777, text: readFileSync(path, 'utf8') };
  });
}

it('what a run prints is seen as it prints it, and watching ends with the run', async () => {
  const bus = new Bus();
  const slow = new Slow(bus, 'slow');
  const host = await bus.host('front', { worker: slow.cli });
  host.start();
  const watch = new Watch(host, 'worker');
  await watch.says('runs of this machine only');
  await watch.says('waiting for the next run of worker');
  const question = await host.send('worker', 'part');
  await watch.shows('── worker on front');
  slow.print('first line\nsecond');
  await watch.shows('  first line\n  second');
  slow.print('something is wrong\n', 'err');
  await watch.shows('second\n! something is wrong\n');
  slow.print('third');
  await watch.shows('  third');
  slow.print(' goes on\n');
  await watch.shows('  third goes on\n');
  slow.end();
  const { code, out } = await watch.done;
  expect(code).toBe(0);
  expect(out).toMatch(/── worker {2}answered {2}after \d+ s\n$/);

  await until('the answer', () => bus.from('worker').length === 1);
  const again = await host.run('watch', question);
  expect(again.out).toContain('  third goes on\n── worker  answered');
  // An answer leads to the run that gave it.
  const [answer] = bus.from('worker');
  expect((await host.run('watch', answer?.relPath ?? '')).out).toBe(again.out);
});

it('of a CLI that prints JSON the text, the tools called and the tokens so far are seen', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: agent('billed/claude', '-p', 'answer') });
  const question = await host.send('worker', 'part');
  await host.once();
  const { out } = await host.run('watch', question);
  expect(out.split('\n').slice(1, -2)).toEqual([
    '→ Bash: cat secret-transcript',
    '· so far 15 in, 1,500 cached, 6 out',
    '  It is done.',
    '· so far 30 in, 3,000 cached, 12 out',
    '· so far 30 in, 3,000 cached, 12 out, $0.2500',
  ]);
  const json = (await host.run('watch', question, '--json')).out.trimEnd().split('\n');
  const lines = json.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ kind }) => kind)).toEqual('run tool used says used used end'.split(' '));
  expect(lines[0]).toMatchObject({ actor: 'worker', messages: [question], live: false });
  expect(lines.at(-1)).toMatchObject({ actor: 'worker', kind: 'end', ended: 'answered' });
  expect(new Set(lines.map(({ run }) => run)).size).toBe(1);
});

it('two runs at once are told apart, and --follow goes on with the next', async () => {
  const bus = new Bus();
  const [one, two] = [new Slow(bus, 'one'), new Slow(bus, 'two')];
  const host = await bus.host('front', { one: one.cli, two: two.cli, quick: 'echo quickly' });
  host.start();
  await host.send('one,two', 'part');
  await until('two runs', () => existsSync(folder(host)) && files(host).length === 2);
  const [all, follow] = [new Watch(host), new Watch(host, '--follow')];
  await all.shows('── one on front');
  await all.shows('── two on front');
  await follow.shows('── two on front');
  two.print('begins\n');
  await all.shows('  begins\n');
  one.print('half of');
  await all.shows('── one\n  half of');
  two.print('in between\n── one  answered  after 1 s\n');
  // The line of the other is ended first, and nothing that is printed passes for a line of ours.
  await all.shows('  half of\n── two\n  in between\n  ── one  answered  after 1 s\n');
  one.end();
  await all.shows('\n── one  answered');
  two.end(3);
  expect((await all.done).out).toMatch(/── two {2}failed: the command failed {2}after \d+ s\n$/);
  await host.send('quick', 'and you?');
  await follow.shows('  quickly\n── quick  answered');
  expect((await follow.stop()).code).toBe(0);
});

it('nothing that a run prints steers a terminal, hides a part of itself or passes for ours', async () => {
  const bus = new Bus();
  const slow = new Slow(bus, 'worker');
  const host = await bus.host('front', { worker: slow.cli });
  host.start();
  await host.send('worker', 'part');
  const watch = new Watch(host, 'worker');
  await watch.shows('── worker');
  slow.print('rm -rf everything\rnothing to see\r\n');
  slow.print('\u001b[2J\u001b[31mred\u001b[0m \u001b]0;title\u0007cleared \u009b5mblinks\n');
  slow.print('abc\u202edcba\u2066 \u200f');
  await watch.shows('abcdcba ');
  // A sequence and a character that come in two parts.
  slow.print('split \u001b[3');
  await watch.shows('split ');
  slow.print('1mred\n');
  slow.run(String.raw`printf '\303'`);
  slow.run(String.raw`printf '\251t\351\n'`);
  await watch.shows('ét');
  slow.print('\u001b]52;c;');
  slow.print('a'.repeat(9000));
  await watch.shows('aaaa');
  slow.end();
  const { out } = await watch.done;
  expect(out).toContain('  rm -rf everything\n  nothing to see\n  red cleared blinks\n');
  expect(out).toContain('split red\n');
  // eslint-disable-next-line no-control-regex -- what must not be there
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  const [file] = files(host);
  expect(file?.text).not.toMatch(/\\u00(?:[01]|[89])/);
});

it('of a run that prints 100 MB, 256 KiB are kept, and what is left out is said', async () => {
  const bus = new Bus();
  const flood = 'yes 0123456789abcdef | head -c 100000000; echo; echo the end';
  const host = await bus.host('front', {
    worker: { default: { cli: `cat >/dev/null; { ${flood}; } >&2; echo done` } },
  });
  const question = await host.send('worker', 'part');
  await host.once();
  const kept = files(host).reduce((sum, { size }) => sum + size, 0);
  expect(kept).toBeGreaterThan(128 * 1024);
  expect(kept).toBeLessThanOrEqual(256 * 1024);
  const { out } = await host.run('watch', question);
  const said = out.split('\n').filter((line) => !line.startsWith('! 0123456789abcdef'));
  const gaps = [...out.matchAll(/^… ([\d,]+) bytes are left out$/gm)];
  const leftOut = gaps.reduce((sum, [, bytes = '']) => sum + Number(bytes.replaceAll(',', '')), 0);
  // All that was printed is either shown or said to be left out, but for the marks of lines and heads.
  expect(leftOut + out.length).toBeGreaterThan(99_000_000);
  expect(leftOut).toBeLessThan(101_000_000);
  expect(said).toContain('! the end');
  expect(said).toContain('  done');
  expect(bus.from('worker')[0]?.message.body).toBe('done\n');
});

it('a long line of characters that take two code units keeps each of them whole', async () => {
  const bus = new Bus();
  const line = `x${'😀'.repeat(20_000)}`;
  const file = join(bus.root, 'line');
  writeFileSync(file, `${line}\n`);
  const host = await bus.host('front', { worker: `cat >/dev/null; cat '${file}'; echo done` });
  const question = await host.send('worker', 'part');
  await host.once();
  expect((await host.run('watch', question)).out).toContain(`  ${line}\n  done\n`);
  // A terminal is given bytes, in which half a character becomes a mark.
  const program = new Program(host, 'watch', question);
  await program.ended();
  expect(program.out.includes('\ufffd')).toBe(false);
});

it('nothing of it leaves the machine, and its files are their owner’s alone', async () => {
  const bus = new Bus();
  const secret = 'a-secret-that-was-printed';
  const leak = `echo ${secret.replaceAll('-', "'-'")}`;
  const host = await bus.host('front', {
    worker: `cat >/dev/null; { ${leak}; } >&2; echo fine`,
    failing: {
      default: { cli: `cat >/dev/null; ${leak}; echo 'it broke' >&2; exit 3`, attempts: 1 },
    },
  });
  const before = process.umask(0);
  try {
    await host.send('worker', 'part');
    await host.send('failing', 'part');
    await host.once();
  } finally {
    process.umask(before);
  }
  expect(files(host).filter(({ text }) => text.includes(secret))).toHaveLength(2);
  expect(files(host).map(({ mode }) => mode)).toEqual([0o600, 0o600]);
  expect(statSync(folder(host)).mode & 0o777).toBe(0o700);
  expect((await host.run('dlq', '--json')).out).not.toContain(secret);
  const objects = git(bus.hub, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)');
  for (const oid of objects.trim().split('\n'))
    expect(git(bus.hub, 'cat-file', '-p', oid)).not.toContain(secret);
});

it('what was printed until a dispatcher was killed stays to be read, from any process', async () => {
  const bus = new Bus();
  const slow = new Slow(bus, 'worker');
  const host = await bus.host('front', { worker: slow.cli });
  const question = await host.send('worker', 'part');
  const dispatcher = new Program(host, 'dispatch', '--host', 'front', '--interval', '1');
  const watch = new Program(host, 'watch', 'worker');
  slow.print('so far\n');
  await until('the output', () => watch.out.includes('  so far\n'));
  await dispatcher.stop('SIGKILL');
  // It ends when nothing more can come.
  expect(await watch.ended()).toBe(0);
  const ended = '── worker  cut off: its dispatcher ended before it did, or the disk was full\n';
  const again = await host.run('watch', question);
  expect(again.out).toContain(`  so far\n${ended}`);
  slow.end();
});

it('Ctrl-C ends it cleanly, and does nothing to the run', async () => {
  const bus = new Bus();
  const slow = new Slow(bus, 'worker');
  const host = await bus.host('front', { worker: slow.cli });
  host.start();
  await host.send('worker', 'part');
  const watch = new Program(host, 'watch');
  slow.print('so far\n');
  await until('the output', () => watch.out.includes('  so far\n'));
  expect(await watch.stop('SIGINT')).toBe(130);
  expect(watch.err).not.toMatch(/error/i);
  slow.end();
  await until('the answer', () => bus.from('worker').length === 1);
});

it(
  'a transcript goes after seven days, or as crosstalk.keepTranscripts says',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat >/dev/null; echo done' });
    const later = async (days: number): Promise<void> => {
      const at = (): number => Date.now() + days * 86_400_000;
      const clock = {
        now: () => new Date(at()),
        random: Math.random,
        newId: () => ulid(at()),
        uuid: () => crypto.randomUUID(),
        suffix: () => crypto.randomUUID().slice(0, 8).padEnd(12, '0'),
        secret: (bytes: number) => 'ab'.repeat(bytes),
      };
      const ran = await host.runWith({ clock }, 'dispatch', '--once', '--host', 'front');
      expect(ran.code, ran.err).toBe(0);
    };
    const question = await host.send('worker', 'part');
    await later(0);
    expect(files(host)).toHaveLength(1);
    await later(6.9);
    expect(files(host)).toHaveLength(1);
    await later(7.1);
    expect(files(host)).toHaveLength(0);
    const gone = await host.run('watch', question);
    expect(gone).toMatchObject({ code: 1, out: '' });
    expect(gone.err).toContain('on record: each machine keeps its own, for 7 days');

    git(host.dir, 'config', 'crosstalk.keepTranscripts', '2h');
    await host.send('worker', 'another');
    await later(0);
    expect(files(host)).toHaveLength(1);
    await later(0.1);
    expect(files(host)).toHaveLength(0);
    git(host.dir, 'config', 'crosstalk.keepTranscripts', '0');
    await host.send('worker', 'a third');
    await host.once();
    expect(files(host)).toHaveLength(0);
  },
);

it('with crosstalk.keepTranscripts 0 a run is seen while it goes on, to its end', async () => {
  const bus = new Bus();
  const slow = new Slow(bus, 'worker');
  const host = await bus.host('front', { worker: slow.cli });
  git(host.dir, 'config', 'crosstalk.keepTranscripts', '0');
  host.start();
  const watch = new Watch(host);
  await watch.says('waiting');
  await host.send('worker', 'part');
  slow.print('so far\n');
  await watch.shows('  so far\n');
  slow.print('the last\n');
  slow.end();
  expect((await watch.done).out).toMatch(/ {2}the last\n── worker {2}answered/);
  expect(files(host)).toEqual([]);
});

it('a folder that cannot be written to fails no run', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'cat >/dev/null; echo done' });
  rmSync(folder(host), { recursive: true, force: true });
  writeFileSync(folder(host), 'in the way');
  await host.send('worker', 'part');
  await host.once();
  expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['done\n']);
});

it(
  'who asks for what is not there is told what is, and a run is told that it is not for it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      worker: 'cat >/dev/null; crosstalk watch 2>&1; echo "exit $?"',
    });
    await bus.host('back', { distant: 'cat' });
    await host.news();
    const typo = await host.run('watch', 'wroker');
    expect(typo).toMatchObject({ code: 1, out: '' });
    expect(typo.err.trim().split('\n')).toHaveLength(1);
    expect(typo.err).toContain('"wroker" is neither a message nor an actor of this machine');
    expect(typo.err).toContain('did you mean worker?');
    expect((await host.run('watch', 'distant')).code).toBe(1);
    const away = await host.send('distant', 'part');
    expect((await host.run('watch', away)).err).toContain('each machine keeps its own');
    await host.send('worker', 'part');
    await host.once();
    const said = bus.from('worker')[0]?.message.body;
    expect(said).toContain('not for a run');
    expect(said).toContain('exit 2');
  },
);

it('--timeout ends the watching with exit code 3, and a dead letter names what else its run printed', async () => {
  const bus = new Bus();
  const cli = 'cat >/dev/null; echo to stdout; echo to stderr >&2; exit 3';
  const host = await bus.host('front', { worker: { default: { cli, attempts: '1' } } });
  const nothing = await host.run('watch', '--timeout', '0.2');
  expect([nothing.code, nothing.out]).toEqual([3, '']);
  const sent = await host.send('worker', 'try');
  await host.once();
  expect((await host.run('watch', sent, '--timeout', '1m')).code).toBe(0);
  expect(await host.run('watch', '--timeout', 'soon')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--timeout is "soon", expected seconds') as string,
  });
  const [id = ''] = (await host.run('dlq')).out.split(' ');
  expect((await host.run('dlq', '--show', id)).out).toMatch(
    new RegExp(
      `\nstdout\n +to stdout\nstderr\n +to stderr\nall that its last run printed: crosstalk watch ${sent}\n$`,
    ),
  );
  const json = JSON.parse((await host.run('dlq', '--show', id, '--json')).out) as object;
  expect(json).toMatchObject({ stdout_tail: 'to stdout\n', stderr_tail: 'to stderr\n' });
});
