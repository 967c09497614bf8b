import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask } from '../../src/dispatcher/socket/wake.ts';
import { Bus, type Host } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { rowsIn } from '../support/rows.ts';
import { Persuaded } from '../support/run-commands.ts';
import { until } from '../support/wait.ts';

const ULID = '01JZZZZZZZZZZZZZZZZZZZZZZ';
const id = (serial: number): string => `${ULID}${String(serial)}`;

/** A request as the program makes it; the given fields replace parts of it. */
function request(serial: number, other: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    kind: 'send',
    id: id(serial),
    at: new Date().toISOString(),
    seed: '0123456789abcdef0123456789abcdef',
    input: { to: 'other', body: `said ${String(serial)}`, isNew: true, wait: true },
    ...other,
  };
}

/**
 * A machine with an actor whose run continues until a file appears; the test makes the run's
 * requests.
 */
async function machine(): Promise<{ bus: Bus; host: Host; end: () => void; cli: string }> {
  const bus = new Bus();
  const stop = join(bus.root, 'stop');
  const cli = `cat >/dev/null; while [ ! -e ${stop} ]; do sleep 0.05; done; echo done`;
  const host = await bus.host('laptop', { worker: cli, other: 'cat >/dev/null' });
  return {
    bus,
    host,
    cli,
    end: () => {
      writeFileSync(stop, '');
    },
  };
}

/** The directory of the current run. */
function runDirectory(host: Host): Promise<string> {
  return until('a run with a directory', () => {
    const folder = join(host.state, 'run');
    const [name] = existsSync(folder) ? readdirSync(folder) : [];
    return name !== undefined && existsSync(join(folder, name, 's')) && join(folder, name);
  });
}

function bodies(bus: Bus, from = 'worker'): string[] {
  return bus.from(from).map(({ message }) => message.body.trim());
}

test('who speaks on a run’s socket is that run, whatever it says of itself', async () => {
  const { bus, host, end } = await machine();
  const running = host.start();
  await host.send('worker', 'go on');
  const socket = join(await runDirectory(host), 's');
  const say = async (what: unknown): Promise<unknown> => {
    const asked = await ask(socket, { op: 'send', request: what }, 20_000);
    return asked.kind === 'answered' ? asked.answer.send : asked.kind;
  };

  const link = { id: 'x', host: 'elsewhere', channel: host.channel(), triggers: [] };
  const input = { to: 'other', body: 'linked', isNew: false, wait: true };
  expect(await say(request(1, { input: { ...input, link, login: 'operator' } }))).toMatchObject({
    result: { from: 'worker' },
  });
  expect(await say(request(2, { input: { ...input, from: 'operator' } }))).toMatchObject({
    error: { code: 'usage' },
  });
  for (const wrong of [null, 'x', {}, request(3, { kind: 'attach' }), request(4, { id: '../x' })])
    expect(await say(wrong)).toMatchObject({ error: { code: 'usage' } });
  // Requests that the dispatcher's own socket answers are not answered here.
  expect(await ask(socket, { op: 'publish', ids: [] }, 5000)).toEqual({ kind: 'nobody' });
  expect(await ask(socket, { op: 'news', tip: '' }, 5000)).toEqual({ kind: 'nobody' });

  end();
  await until('the answer', () => bodies(bus).includes('done'));
  await running.stop();
  const [said] = bus.from('worker');
  expect(said?.message).toMatchObject({ host: 'laptop', body: 'linked' });
  expect(said?.message.cause).toHaveLength(1);
  expect(bus.from('operator')).toHaveLength(1);
});

test(
  'what a run drops whole is published while it goes on, once, and it gets an answer',
  { tags: 'long' },
  async () => {
    const { bus, host, end } = await machine();
    const running = host.start();
    await host.send('worker', 'go on');
    const dir = await runDirectory(host);
    const drop = join(dir, 'drop');

    writeFileSync(join(drop, `${id(1)}.json`), JSON.stringify(request(1)));
    await until('its answer', () => existsSync(join(drop, `${id(1)}.answer.json`)));
    expect(bodies(bus)).toEqual(['said 1']);
    expect(existsSync(dir)).toBe(true);

    // Again with the same name, and as one that names an outbox entry of somebody else.
    writeFileSync(join(drop, `${id(1)}.json`), JSON.stringify(request(1)));
    writeFileSync(join(drop, `${id(2)}.json`), JSON.stringify(request(1)));
    writeFileSync(join(drop, `${id(3)}.json`), JSON.stringify(request(3)));
    await until('the third', () => bodies(bus).includes('said 3'));
    expect(JSON.parse(readFileSync(join(drop, `${id(2)}.answer.json`), 'utf8'))).toMatchObject({
      error: { code: 'usage' },
    });

    end();
    await until('the answer', () => bodies(bus).includes('done'));
    await running.stop();
    expect(bodies(bus)).toEqual(['said 1', 'said 3', 'done']);
    expect(existsSync(dir)).toBe(false);
  },
);

test('half-written, huge, linked and other files in the drop folder do no harm', async () => {
  const { bus, host, end } = await machine();
  const running = host.start();
  await host.send('worker', 'go on');
  const dir = await runDirectory(host);
  const whole = JSON.stringify(request(1));
  const secret = join(bus.root, 'secret.json');
  writeFileSync(secret, JSON.stringify(request(2)));
  const { symlinkSync, linkSync, renameSync, truncateSync } = await import('node:fs');
  const { execFileSync } = await import('node:child_process');
  const at = (serial: number): string => join(dir, 'drop', `${id(serial)}.json`);

  writeFileSync(at(1), whole.slice(0, 40));
  symlinkSync(secret, at(2));
  linkSync(secret, at(3));
  execFileSync('mkfifo', [at(4)]);
  mkdirSync(at(5));
  writeFileSync(at(6), '');
  truncateSync(at(6), 64 * 1024 * 1024 * 1024);
  writeFileSync(at(7), '\0\0garbage');
  writeFileSync(join(dir, 'drop', 'x.json'), whole);
  writeFileSync(at(8), JSON.stringify(request(8)));
  await until('the only one that is right', () => bodies(bus).includes('said 8'));
  writeFileSync(at(1), whole);
  await until('the one that is whole now', () => bodies(bus).includes('said 1'));

  // Another folder in the place of the drop folder is neither read nor changed.
  const outbox = join(bus.root, 'outbox');
  mkdirSync(outbox);
  writeFileSync(join(outbox, `${id(9)}.json`), JSON.stringify(request(9)));
  renameSync(join(dir, 'drop'), join(dir, 'aside'));
  symlinkSync(outbox, join(dir, 'drop'));
  writeFileSync(join(dir, 'aside', '01JZZZZZZZZZZZZZZZZZZZZZZA.json'), '{');

  end();
  await until('the answer', () => bodies(bus).includes('done'));
  await running.stop();
  expect(bodies(bus).sort()).toEqual(['done', 'said 1', 'said 8']);
  expect(readdirSync(outbox)).toEqual([`${id(9)}.json`]);
  expect(existsSync(secret)).toBe(true);
  expect(running.count('drop_refused')).toBeGreaterThan(3);
});

test('what a run has dropped is published although its dispatcher was killed, and once', async () => {
  const { bus, host, end } = await machine();
  const dispatcher = new Program(host, 'dispatch', '--host', 'laptop', '--interval', '1');
  await host.send('worker', 'go on');
  const dir = await runDirectory(host);
  await until('the record of the run', () => rowsIn(host.state, 'run').length > 0);
  await dispatcher.stop('SIGKILL');
  writeFileSync(join(dir, 'drop', `${id(1)}.json`), JSON.stringify(request(1)));
  writeFileSync(join(dir, 'drop', `.${id(2)}.tmp`), JSON.stringify(request(2)));

  end();
  await host.once();
  expect(bodies(bus).sort()).toEqual(['done', 'said 1']);
  expect(readdirSync(join(host.state, 'run'))).toEqual([]);
});

test(
  'where no socket can be reached crosstalk send goes by the drop folder, during the run',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const worker = new Persuaded(
      bus,
      'rm "$CROSSTALK_RUN_DIR"/s; crosstalk send --to other --new "from the sandbox"',
      `git --git-dir=${bus.root}/hub.git log --format=%an main | head -1`,
      'crosstalk channel create made-there',
      'crosstalk memory add --subject "It holds" "since today"',
    );
    const host = await bus.host('laptop', { worker: worker.cli, other: 'cat >/dev/null' });
    await host.send('worker', 'go on');
    const log = await host.once();
    const [sent, author, made, noted] = worker.given;
    expect(sent).toMatchObject({ code: 0, err: '' });
    expect(sent?.out).toMatch(/^Sent: \d{4}\//);
    expect(author?.out.trim()).toBe('worker');
    expect(made?.out).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(noted?.out).toMatch(/^Remembered: /);
    expect(bodies(bus)).toEqual(['from the sandbox', 'done']);
    expect(log.map(({ event }) => event)).not.toContain('drop_refused');
  },
);

test('a command that 6.0 proposed for codex still lets it speak, and shows it no approvals', async () => {
  const bus = new Bus();
  const worker = new Persuaded(
    bus,
    'ls "$1"',
    'rm "$CROSSTALK_RUN_DIR"/s; crosstalk send --to other --new hello',
  );
  const host = await bus.host('laptop', {
    worker: `ls "$CROSSTALK_STATE_DIR" > ${bus.root}/seen; ${worker.cli}`,
    other: 'cat >/dev/null',
  });
  await host.send('worker', 'go on');
  await host.once();
  expect(readFileSync(join(bus.root, 'seen'), 'utf8')).toBe('batch\ndrop\ns\n');
  expect(worker.given[1]?.out).toMatch(/^Sent: /);
});
