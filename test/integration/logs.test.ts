import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { logs, RotatingLog, type LogLine } from '../../src/actions/tracing/logs.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

const PONG = 'cat > /dev/null; echo pong';
const LIMITS = { size: 1000, files: 5 };

/** The n-th event of an invented log. */
function line(n: number, more: Record<string, unknown> = {}): string {
  const ts = new Date(Date.UTC(2026, 5, 9, 19, 0, n)).toISOString();
  return `${JSON.stringify({ ts, level: 'info', event: 'woken', n, ...more })}\n`;
}

function numbers(text: string): number[] {
  return [...text.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n));
}

/** A log at its usual place, and the input of a host's `crosstalk logs`. */
function logOf(host: Host, ...lines: string[]): string {
  const path = join(host.state, 'log', 'dispatcher.jsonl');
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, lines.join(''));
  return path;
}

it('a log is begun anew when it is full, and only so many files of it are kept', () => {
  const path = join(scratch(), 'log');
  const log = new RotatingLog(path, LIMITS);
  for (let n = 0; n < 100; n++) log.write(line(n));
  log.close();
  expect(readdirSync(dirname(path)).sort()).toEqual(['log', 'log.1', 'log.2', 'log.3', 'log.4']);
  const files = [4, 3, 2, 1, 0].map((n) => (n === 0 ? path : `${path}.${String(n)}`));
  for (const file of files) expect(statSync(file).size).toBeLessThanOrEqual(LIMITS.size);
  const kept = files.flatMap((file) => numbers(readFileSync(file, 'utf8')));
  expect(kept).toEqual(Array.from(kept, (_, index) => 100 - kept.length + index));
});

it('a log goes on at the size it had when the dispatcher is started again', () => {
  const path = join(scratch(), 'log');
  for (let n = 0; n < 30; n++) {
    const log = new RotatingLog(path, LIMITS);
    log.write(line(n));
    log.close();
  }
  expect(statSync(path).size).toBeLessThanOrEqual(LIMITS.size);
  expect(numbers(readFileSync(`${path}.1`, 'utf8'))).not.toEqual([]);
});

it('a log that cannot be written stops nothing, and goes on once it can be', () => {
  const path = join(scratch(), 'folder', 'log');
  mkdirSync(dirname(path));
  const log = new RotatingLog(path, { size: 100, files: 2 });
  log.write(line(1));
  rmSync(dirname(path), { recursive: true });
  for (let n = 2; n < 5; n++) log.write(line(n));
  mkdirSync(dirname(path));
  log.write(line(5));
  log.close();
  expect(numbers(readFileSync(path, 'utf8'))).toEqual([5]);
});

it('a dispatcher whose log is on a full disk delivers all the same', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: PONG });
  await host.send('worker', 'ping');
  await host.once('--log', '/dev/full');
  expect(bus.from('worker').map(({ message }) => message.body.trim())).toEqual(['pong']);
});

it('logs shows the newest lines of all files, by level, by time, and raw with --json', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const path = logOf(host);
  const log = new RotatingLog(path, LIMITS);
  for (let n = 0; n < 20; n++) log.write(line(n, n === 3 ? { level: 'warn' } : {}));
  log.close();
  appendFileSync(path, 'cut o');
  const json = async (...options: string[]): Promise<number[]> => {
    const { out, err } = await host.run('logs', '--json', ...options);
    expect(err).toBe('');
    return numbers(out);
  };
  expect(await json('--limit', '15')).toEqual(Array.from({ length: 15 }, (_, n) => n + 5));
  expect(await json('--level', 'warn')).toEqual([3]);
  expect(await json('--since', '2026-06-09T19:00:18Z')).toEqual([18, 19]);
  expect((await host.run('logs', '--limit', '2')).out).toMatch(/^(\S+ \S+ woken\n){2}$/);
  expect((await host.run('logs', '--level', 'loud')).code).toBe(2);
});

it('what an agent wrote cannot steer the terminal of somebody who reads the log', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const detail = 'bad\u001b]0;title\u0007\u009b2J\nserving /elsewhere\u202e';
  logOf(host, line(1, { event: 'dispatch_failed', actor: 'worker', detail }));
  const { out } = await host.run('logs');
  expect(out).toMatch(/^\S+ \S+ worker failed: bad\]0;title2J serving \/elsewhere\n$/);
});

it('where there is no log, logs says who writes one', async () => {
  const host = await new Bus().host('front', { worker: PONG });
  const ran = await host.run('logs');
  expect([ran.code, ran.out]).toEqual([0, '']);
  expect(ran.err).toContain('crosstalk dispatch --log');
});

it('logs that are followed lose nothing, and repeat nothing, while the log is begun anew', async () => {
  const path = join(scratch(), 'log');
  const log = new RotatingLog(path, LIMITS);
  for (let n = 0; n < 5; n++) log.write(line(n));
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    const wanted = ({ fields }: LogLine): boolean => fields['n'] !== 50;
    for await (const { fields } of logs(path, { limit: 3, wanted }, stop.signal))
      seen.push(Number(fields['n']));
  })();
  await until('what was there', () => seen.includes(4));
  // Each burst is longer than a log file may be.
  for (let n = 5; n < 200; n += 39) {
    for (let at = n; at < n + 39; at++) log.write(line(at));
    await until(`line ${String(n + 38)}`, () => seen.includes(n + 38));
  }
  stop.abort();
  await following;
  log.close();
  expect(seen).toEqual(Array.from({ length: 198 }, (_, n) => n + 2).filter((n) => n !== 50));
});

it(
  'logs -f goes on until it is interrupted, and begins before there is a log',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: PONG });
    const program = new Program(host, 'logs', '-f', '--json');
    // It follows from the moment at which it has opened the transport; the line is written before or
    // after.
    const path = logOf(host, line(1));
    await until('the first line', () => program.out.includes('"n":1'));
    appendFileSync(path, line(2));
    await until('the second line', () => program.out.includes('"n":2'));
    expect(await program.stop('SIGINT')).toBe(130);
    expect(numbers(program.out)).toEqual([1, 2]);
  },
);
