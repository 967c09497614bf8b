import { expect, it, onTestFinished } from 'vitest';
import type { LoggedMemoryJson, MemoryJson } from '../../src/actions/shapes/as-json.ts';
import { Bus, type Host } from '../support/bus.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const each = underTest('claude', 'codex').map((cli) => [cli.name, cli] as const);

async function model(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

async function add(
  host: Host,
  subject: string,
  body: string,
  ...options: string[]
): Promise<string> {
  const ran = await host.run('memory', 'add', '--subject', subject, ...options, body);
  const file = /^Remembered: (.+)\n$/.exec(ran.out)?.[1];
  if (file === undefined) throw new Error(`memory add: ${ran.out}${ran.err}`);
  return file;
}

async function json<T>(host: Host, ...args: string[]): Promise<T> {
  const ran = await host.run(...args, '--json');
  if (ran.code !== 0) throw new Error(ran.err);
  return JSON.parse(ran.out) as T;
}

/** The first word of the line in which the prompt names a note. */
const named = (prompt: string, subject: string): string =>
  new RegExp(`^- ([0-9a-f]+) \\(.*: "${subject}"$`, 'm').exec(prompt)?.[1] ?? `no ${subject}`;

/** What the model does, one command after the other, with the notes that its prompt names. */
const work = (prompt: string): string[] => {
  const [tuesday, day, port, newPort, lunch] = [
    'Releases go out on Tuesdays',
    'Release day is Tuesday',
    'The server listens on port 80',
    'The server listens on port 8080',
    'Lunch is late today',
  ].map((subject) => named(prompt, subject));
  return [
    'crosstalk memory list && crosstalk memory log',
    ...[tuesday, day, port, newPort].map((note) => `crosstalk memory show ${note ?? ''}`),
    `crosstalk memory add --subject "Releases go out on Tuesdays, at ten" --kind decision --name release-day --alias ship --supersedes ${tuesday ?? ''} --supersedes ${day ?? ''} "Anna decided it; since May at ten."`,
    `crosstalk memory forget ${port ?? ''} "port 8080 since June, as the newer note says"`,
    `crosstalk memory forget ${lunch ?? ''} "over"`,
  ];
};

async function scene(host: Host): Promise<Record<'tuesday' | 'day' | 'port' | 'lunch', string>> {
  const tuesday = await add(
    host,
    'Releases go out on Tuesdays',
    'Anna decided it.',
    ...['--from', 'anna', '--kind', 'decision', '--name', 'release-day'],
  );
  const day = await add(host, 'Release day is Tuesday', 'Since May at ten.', '--alias', 'ship');
  const port = await add(host, 'The server listens on port 80', 'So nginx.', '--from', 'bert');
  await add(host, 'The server listens on port 8080', 'Since June.', '--from', 'bert');
  const lunch = await add(host, 'Lunch is late today', 'At two.');
  await add(host, 'Nobody touches this one', 'It stays as it is.');
  return { tuesday, day, port, lunch };
}

it.each(each)(
  '%s as the librarian merges duplicates, ends a contradiction and reports, when a schedule says /consolidate',
  async (_name, cli) => {
    const server = await model(({ prompt, results }) => {
      const steps = work(prompt);
      const next = steps[results.length];
      return next === undefined
        ? { say: `Merged two, forgot two. Last: ${results.at(-1) ?? ''}` }
        : { shell: next };
    });
    const host = await machine(new Bus(), 'laptop', server.url, { librarian: cli });
    const old = await scene(host);
    const scheduled = await host.run(
      ...['schedule', 'add', 'tidy', '--to', 'librarian', '--from', 'anna', '--every', '24h'],
      '/consolidate',
    );
    expect([scheduled.code, scheduled.err]).toEqual([0, '']);
    const running = host.start();
    const ran = await host.run('schedule', 'run', 'tidy');
    const question = /(\d{4}\/\S+\.md)/.exec(ran.out)?.[1] ?? `${ran.out}${ran.err}`;
    const replied = await host.run('replies', '--wait', '--timeout', '150', question);
    await running.stop();
    expect(replied.out).toContain('Merged two, forgot two.');
    expect(replied.out).toContain(`Forgotten: ${old.lunch}, by `);

    const prompt = server.requests.find(({ results }) => results.length === 0)?.prompt ?? '';
    expect(prompt).toContain('Merge only what says the same');
    const inForce = await json<MemoryJson[]>(host, 'memory', 'list');
    expect(inForce.map(({ subject }) => subject)).toEqual([
      'Releases go out on Tuesdays, at ten',
      'Nobody touches this one',
      'The server listens on port 8080',
    ]);
    expect(inForce[0]).toMatchObject({
      from: 'librarian',
      kind: 'decision',
      name: 'release-day',
      alias: ['ship'],
      supersedes: old.tuesday,
      supersedes_also: [old.day],
    });
    const log = await json<LoggedMemoryJson[]>(host, 'memory', 'log');
    expect(log.slice(0, 3).map(({ by, what, supersedes }) => [by, what, supersedes])).toEqual([
      ['librarian', 'forgot', old.lunch],
      ['librarian', 'forgot', old.port],
      ['librarian', 'replaced', old.tuesday],
    ]);
    // An operator brings back what should not have been forgotten.
    expect((await host.run('memory', 'restore', old.port)).code).toBe(0);
    expect(await json<MemoryJson[]>(host, 'memory', 'list')).toHaveLength(4);
  },
);
