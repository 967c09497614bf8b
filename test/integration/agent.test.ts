import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { invoke, type InvocationResult } from '../../src/runner/runner.ts';
import { processRunner } from '../../src/runner/process-runner.ts';
import { outcomeOf } from '../../src/runner/outcome.ts';
import { Bus, scratch } from '../support/bus.ts';
import { examples } from '../support/form.ts';
import { exists } from '../support/process.ts';
import { until } from '../support/wait.ts';

const MIB = 1024 * 1024;

function run(
  cli: string,
  options: { timeout?: number; grace?: number; input?: string; signal?: AbortSignal } = {},
): Promise<InvocationResult> {
  return invoke(processRunner, {
    command: cli,
    cwd: scratch(),
    env: process.env,
    input: options.input ?? 'prompt\n',
    timeout: options.timeout ?? 20_000,
    grace: options.grace ?? 300,
    maxOutput: MIB,
    signal: options.signal ?? new AbortController().signal,
    onStart: () => Promise.resolve(),
  });
}

const judged = (result: InvocationResult): unknown =>
  outcomeOf(result, { timeout: 500, maxOutput: MIB });

describe('a CLI that', () => {
  it('reads its prompt and answers is answered', async () => {
    expect(judged(await run('cat', { input: 'line\n\n  ünïcode\n' }))).toEqual({
      kind: 'answered',
      text: 'line\n\n  ünïcode\n',
    });
  });
  it.each([
    ['does not exist', 'no-such-program', 'not_started', /exit code 127: .*not found/],
    ['may not be executed', '/etc/passwd', 'not_started', /exit code 126/],
    [
      'exits with another code',
      'echo "out of credit" >&2; exit 3',
      'exit_code',
      /^exit code 3: out of credit$/,
    ],
    ['kills itself', 'kill -9 $$', 'signal', /^ended by SIGKILL$/],
    ['writes without end', 'yes', 'too_much_output', /more than 1048576 bytes/],
  ])('%s has failed', async (_, cli, reason, detail) => {
    expect(judged(await run(cli))).toEqual({
      kind: 'failed',
      reason,
      detail: expect.stringMatching(detail) as unknown,
    });
  });
  it('hangs and ignores SIGTERM is killed after its grace', async () => {
    const result = await run('trap "" TERM; echo $$ > pid; while :; do sleep 0.1; done', {
      timeout: 2000,
      grace: 200,
    });
    expect(judged(result)).toMatchObject({ reason: 'timed_out' });
    expect(result.duration).toBeGreaterThanOrEqual(2200);
  });
  it('forks children that outlive it leaves none of them behind', async () => {
    const dir = scratch();
    const result = await run(`sleep 300 & echo $! > ${dir}/child; echo done`);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    const child = Number(readFileSync(join(dir, 'child'), 'utf8'));
    await until('the child to be gone', async () => !(await exists(child)));
  });
  it('writes a gigabyte is ended at the limit, in little memory', async () => {
    const before = process.memoryUsage().rss;
    const result = await run('head -c 1073741824 /dev/zero');
    expect(result.tooMuchOutput).toBe(true);
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * MIB);
  });
  it('writes a gigabyte to stderr is heard to the end, of which the last 16 KiB are kept', async () => {
    const result = await run('head -c 268435456 /dev/zero >&2; echo last words >&2; echo fine');
    expect(result.stdout).toBe('fine\n');
    expect(result.stderrTail).toHaveLength(16 * 1024);
    expect(result.stderrTail.endsWith('last words\n')).toBe(true);
  });
  it('writes what is not UTF-8 is taken as text, with what is invalid replaced', async () => {
    expect((await run("printf 'a\\377b'")).stdout).toBe('a\uFFFDb');
  });
  it('closes its stdin early is no failure, however long the prompt', async () => {
    expect(judged(await run('exec <&-; echo short', { input: 'x'.repeat(8 * MIB) }))).toEqual({
      kind: 'answered',
      text: 'short\n',
    });
  });
  it('is stopped is told apart from one that failed', async () => {
    const controller = new AbortController();
    const started = join(scratch(), 'started');
    const result = run(`touch ${started}; exec sleep 60`, { signal: controller.signal });
    await until('the CLI', () => existsSync(started));
    controller.abort();
    expect(judged(await result)).toEqual({ kind: 'stopped' });
  });
  it('was never given its go runs nothing', async () => {
    const dir = scratch();
    const refused = invoke(processRunner, {
      command: `touch ${dir}/ran`,
      cwd: dir,
      env: process.env,
      input: '',
      timeout: 5000,
      grace: 100,
      maxOutput: MIB,
      signal: new AbortController().signal,
      onStart: () => Promise.reject(new Error('the run could not be recorded')),
    });
    await expect(refused).rejects.toThrow('could not be recorded');
    expect(existsSync(join(dir, 'ran'))).toBe(false);
  });
});

it(
  'a thousand runs leave no process, no zombie and no descriptor behind',
  { tags: 'long' },
  async () => {
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const children = (): string[] =>
      readFileSync(`/proc/self/task/${String(process.pid)}/children`, 'utf8')
        .trim()
        .split(' ');
    await run('true');
    // Test files before it in this process may have left some that are about to end.
    const others = new Set(['', ...children()]);
    const before = descriptors();
    for (let n = 0; n < 100; n++)
      await Promise.all(Array.from({ length: 10 }, () => run('cat >/dev/null')));
    await until('descriptors to be closed', () => descriptors() <= before + 1);
    expect(children().filter((pid) => !others.has(pid))).toEqual([]);
  },
);

it(
  'a mailbox of ten thousand messages is emptied in a few runs, each message answered once',
  { tags: ['slow', 'sampled'] },
  async () => {
    const many = examples(10_000);
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat >/dev/null; echo done' });
    const folder = `data/channels/${host.channel()}/2026/06/09`;
    const files: Record<string, string> = {};
    for (let n = 0; n < many; n++) {
      files[`${folder}/190000000Z-${n.toString(16).padStart(8, '0')}.md`] =
        '---\nfrom: a\nto: worker\ntype: text\ntimestamp: 2026-06-09T19:00:00Z\n---\n\nhello\n';
    }
    host.edit(files);
    const log = await host.once();
    expect(log.filter(({ event }) => event === 'dispatch_start')).toHaveLength(
      Math.ceil(many / 1500),
    );
    const answered = bus.from('worker').flatMap(({ message }) => message.re);
    expect(answered).toHaveLength(many);
    expect(new Set(answered).size).toBe(many);
  },
);
