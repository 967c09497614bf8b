import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RunEndpoint, type Handling, type RunFacts } from '../../src/dispatcher/run/endpoint.ts';
import { endOrphans } from '../../src/dispatcher/run/orphans.ts';
import { ask } from '../../src/dispatcher/socket/wake.ts';
import { withContext } from '../../src/actions/context.ts';
import type { LookUps } from '../../src/actions/sending/look-up.ts';
import { serveRun } from '../../src/actions/sending/serve-run.ts';
import { askDispatcher, type RunRequest } from '../../src/actions/sending/in-run.ts';
import { identify } from '../../src/state/process-identity.ts';
import { DropFolder, droppedName } from '../../src/state/drop-folder.ts';
import { runDirectory } from '../../src/state/run-directory.ts';
import { Bus, scratch } from '../support/bus.ts';
import { exists, Program } from '../support/process.ts';
import { until } from '../support/wait.ts';

const RUN: RunFacts = {
  id: '01JZZZZZZZZZZZZZZZZZZZZZZZ',
  actor: 'worker',
  host: 'front',
  channel: 'x',
  messages: [],
};

function request(serial: number): RunRequest<'send'> {
  return {
    kind: 'send',
    id: `01JYYYYYYYYYYYYYYYYYYYYYY${String(serial)}`,
    at: new Date().toISOString(),
    seed: '0123456789abcdef0123456789abcdef',
    input: { to: 'other', body: 'late', isNew: true, wait: true, login: 'x' },
  };
}

/**
 * A run's desk in which requests wait until the test releases them, and the received requests.
 *
 * @param waits whether a request waits; all do without it
 * @param cancel aborted when the run is taken back
 */
async function desk(
  waits: (id: string) => boolean = () => true,
  cancel?: AbortSignal,
): Promise<{
  desk: RunEndpoint;
  folder: string;
  served: string[];
  letGo: () => void;
}> {
  const folder = join(scratch(), 'run');
  const served: string[] = [];
  let letGo: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  const parts = {
    paths: { run: folder },
    log: () => undefined,
    serveRun: async (_: RunFacts, asked: unknown, { durable }: Handling) => {
      const { id } = asked as { id: string };
      served.push(id);
      if (waits(id)) await gate;
      durable();
      return { result: 'sent', notes: [] };
    },
  };
  const run = cancel === undefined ? RUN : { ...RUN, cancel };
  return { desk: await RunEndpoint.open(parts, run, []), folder, served, letGo };
}

it('what is said after the end of a run is refused, by socket and by drop folder, and nothing else', async () => {
  const { desk: open, folder, served, letGo } = await desk();
  const note = (): void => undefined;
  const inTime = askDispatcher(open.dir, request(1), note);
  await until('the first request', () => served.length === 1);
  writeFileSync(join(open.dir, 'drop', `${request(2).id}.json`), JSON.stringify(request(2)));
  const closed = open.close();
  await until('the end', () => !existsSync(join(open.dir, 'drop')));
  const late = await ask(join(open.dir, 's'), { op: 'send', request: request(3) }, 20_000);
  expect(late).toMatchObject({ answer: { send: { error: { code: 'refused' } } } });
  await expect(askDispatcher(open.dir, request(4), note)).rejects.toThrow('the run has ended');
  rmSync(join(open.dir, 's'));
  await expect(askDispatcher(open.dir, request(5), note)).rejects.toThrow('the run has ended');
  letGo();
  expect(await inTime).toEqual({ result: 'sent' });
  await closed;
  expect(served).toEqual([request(1).id, request(2).id]);
  await expect(askDispatcher(open.dir, request(6), note)).rejects.toThrow('the run has ended');
  expect(readdirSync(folder)).toEqual([]);
});

it('what a run sends is refused where it is taken back before that is written', async () => {
  const host = await new Bus().host('front', { worker: 'true', other: 'true' });
  const env = { ...process.env, ...host.env };
  const cancel = new AbortController();
  const run = { ...RUN, channel: host.channel(), cancel: cancel.signal };
  const open = { transport: host.dir, note: () => undefined };
  await withContext({ env, cwd: host.dir }, open, async (context) => {
    const parts = {
      publish: () => Promise.reject(new Error()),
      lookUps: undefined as unknown as LookUps,
    };
    const handling = { gone: cancel.signal, durable: () => undefined } as unknown as Handling;
    const asked = serveRun(context, parts, run, request(1), handling);
    cancel.abort();
    expect(await asked).toMatchObject({ error: { code: 'refused' } });
    expect(await context.outbox.all()).toEqual([]);
  });
});

it('who waits beside the drop folder for an answer when the run ends is told that it was taken over', async () => {
  const { desk: open, served, letGo } = await desk();
  rmSync(join(open.dir, 's'));
  const waiting = askDispatcher(open.dir, request(1), () => undefined);
  await until('the drop', () => served.length === 1);
  const closed = open.close();
  expect(await waiting).toBeUndefined();
  letGo();
  await closed;
  expect(served).toEqual([request(1).id]);
});

it('what a run drops is taken although a request on its socket is open', async () => {
  const { desk: open, served, letGo } = await desk((id) => id === request(1).id);
  const first = askDispatcher(open.dir, request(1), () => undefined);
  await until('the request on the socket', () => served.length === 1);
  for (const serial of [2, 3]) {
    const path = join(open.dir, 'drop', `${request(serial).id}.json`);
    writeFileSync(path, JSON.stringify(request(serial)));
    await until('the drop', () => served.includes(request(serial).id), 10_000);
  }
  letGo();
  await first;
  await open.close();
});

it('the end of a run that was taken back waits for no request of it', async () => {
  const cancel = new AbortController();
  const { desk: open, folder, served, letGo } = await desk(undefined, cancel.signal);
  const asked = ask(join(open.dir, 's'), { op: 'send', request: request(1) }, 60_000);
  await until('the request on the socket', () => served.length === 1);
  writeFileSync(join(open.dir, 'drop', `${request(2).id}.json`), JSON.stringify(request(2)));
  await until('the drop', () => served.length === 2);
  const begun = performance.now();
  const closed = open.close();
  cancel.abort();
  await closed;
  expect(performance.now() - begun).toBeLessThan(10_000);
  expect(readdirSync(folder)).toEqual([]);
  letGo();
  expect((await asked).kind).toBe('nobody');
});

it('what was dropped before the end is taken by the next start when the dispatcher dies in between', async () => {
  const { desk: open, folder, served, letGo } = await desk();
  letGo();
  const other = join(folder, 'other');
  mkdirSync(other);
  // The state after the first step of the end.
  const abandoned = runDirectory(folder, '01JZZZZZZZZZZZZZZZXXXXXXXX');
  mkdirSync(join(abandoned, 'drop'), { recursive: true, mode: 0o700 });
  writeFileSync(join(abandoned, 'drop', `${request(7).id}.json`), JSON.stringify(request(7)));
  const drops = await DropFolder.open(abandoned);
  await drops?.seal();
  await drops?.close();
  expect(existsSync(join(abandoned, 'drop'))).toBe(false);
  await RunEndpoint.clear(
    {
      paths: { run: folder },
      log: () => undefined,
      serveRun: (_, asked, { durable }) => {
        served.push((asked as { id: string }).id);
        durable();
        return Promise.resolve({ notes: [] });
      },
    },
    { ...RUN, id: '01JZZZZZZZZZZZZZZZXXXXXXXX' },
  );
  expect(served).toEqual([request(7).id]);
  await open.close();
  expect(readdirSync(folder)).toEqual(['other']);
});

it('what is answered after the end is written nowhere, also not to the folder that has the number of the closed one', async () => {
  const root = scratch();
  const [dir, other] = [join(root, 'run'), join(root, 'other')];
  for (const path of [join(dir, 'drop'), other]) mkdirSync(path, { recursive: true });
  const drops = await DropFolder.open(dir);
  if (drops === undefined) throw new Error('no folder for drops');
  const answered = drops.answer(request(1).id, { notes: [] });
  await drops.close();
  // The system gives the lowest number that is free, so one of these has that of the closed folder.
  const handles = await Promise.all(Array.from({ length: 30 }, () => open(other, 'r')));
  onTestFinished(async () => {
    await Promise.all(handles.map((handle) => handle.close()));
  });

  await answered;
  expect(readdirSync(join(dir, 'drop'))).toEqual([`${request(1).id}.answer.json`]);
  await expect(drops.answer(request(2).id, { notes: [] })).rejects.toThrow('closed');
  const bytes = Buffer.from('bytes');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await expect(drops.put(request(2).id, sha256, bytes)).rejects.toThrow('closed');
  writeFileSync(join(other, droppedName(request(2).id, sha256)), bytes);
  expect(await drops.bytes(request(2).id, sha256, 100)).toBeUndefined();
  await expect(drops.take()).rejects.toThrow('closed');
  expect(readdirSync(other)).toEqual([droppedName(request(2).id, sha256)]);
});

it(
  'crosstalk send of a run that has ended is refused with a line that says so',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const seen = join(bus.root, 'seen');
    const host = await bus.host('front', {
      worker: `cat >/dev/null; env | grep ^CROSSTALK_ > ${seen}; echo done`,
    });
    await host.send('worker', 'go');
    await host.once();
    const lines = readFileSync(seen, 'utf8').trim().split('\n');
    const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2))) as Record<
      string,
      string
    >;
    for (const argv of [
      ['send', '--to', 'worker', '--new', 'late'],
      ['channel', 'create', 'late'],
    ]) {
      const program = spawnSync(join(host.state, 'bin', 'crosstalk'), argv, {
        cwd: bus.root,
        env: { ...process.env, ...env },
        encoding: 'utf8',
      });
      expect([program.status, program.stdout]).toEqual([1, '']);
      expect(program.stderr).toContain('the run has ended');
    }
    expect(bus.from('worker')).toHaveLength(1);
  },
);

describe.runIf(process.platform === 'linux')(
  'a process that leaves its run’s process group',
  () => {
    /** Starts a process in its own session that waits, then writes a setting into the workspace. */
    const leaving = (pidFile: string, go: string): string =>
      `setsid sh -c 'echo $$ > ${pidFile}; while ! test -e ${go}; do sleep 0.05; done; mkdir -p "$PWD/.claude"; touch "$PWD/.claude/settings.json" ${go}.written' </dev/null >/dev/null 2>&1 & while ! test -s ${pidFile}; do sleep 0.02; done`;

    it('ends with its run, before anything else is run in that workspace', async () => {
      const bus = new Bus();
      const [pidFile, go] = [join(bus.root, 'pid'), join(bus.root, 'go')];
      onTestFinished(() => {
        writeFileSync(go, '');
      });
      const host = await bus.host('front', {
        worker: `cat >/dev/null; ${leaving(pidFile, go)}; echo done`,
      });
      await host.send('worker', 'go');
      const log = await host.once();
      const pid = Number(readFileSync(pidFile, 'utf8'));
      expect(await exists(pid)).toBe(false);
      expect(log).toContainEqual(expect.objectContaining({ event: 'processes_ended' }));
      expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['done\n']);
    });

    it('ends with its run although its dispatcher was killed', { tags: 'long' }, async () => {
      const bus = new Bus();
      const [pidFile, go] = [join(bus.root, 'pid'), join(bus.root, 'go')];
      onTestFinished(() => {
        writeFileSync(go, '');
      });
      const again = join(bus.root, 'again');
      const host = await bus.host('front', {
        worker: `cat >/dev/null; test -e ${again} && exec echo second; ${leaving(pidFile, go)}; touch ${again}; sleep 60`,
      });
      await host.send('worker', 'go');
      const program = new Program(host, 'dispatch', '--host', 'front');
      await until('the run', () => existsSync(again));
      await program.stop('SIGKILL');
      const pid = Number(readFileSync(pidFile, 'utf8'));
      expect(await exists(pid)).toBe(true);
      await host.once();
      expect(await exists(pid)).toBe(false);
      expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['second\n']);
    });

    it('and nothing is ended that only looks like it: older, of another run, or with the name in a text', async () => {
      const dir = join(scratch(), 'run', 'ABCDEFGHJK');
      const start = (env: NodeJS.ProcessEnv): ChildProcess => {
        const child = spawn('sleep', ['300'], { env: { ...process.env, ...env } });
        onTestFinished(() => void child.kill('SIGKILL'));
        return child;
      };
      const older = start({ CROSSTALK_RUN_DIR: dir });
      // The start time of a process is measured in ticks of the clock.
      const tick = (await identify(older.pid!)).started;
      const newer = await until('a later tick', async () => {
        const child = start({});
        const identity = await identify(child.pid!);
        child.kill('SIGKILL');
        return Number(identity.started) > Number(tick) && identity;
      });
      const others = [
        start({ CROSSTALK_RUN_DIR: `${dir}2` }),
        start({ CROSSTALK_RUN_DIR: dir.slice(0, -1) }),
        start({ OTHER_CROSSTALK_RUN_DIR: dir }),
        start({ TEXT: `x CROSSTALK_RUN_DIR=${dir}` }),
        start({}),
      ];
      const own = start({ CROSSTALK_RUN_DIR: dir });
      expect(await endOrphans([{ dir, leader: newer }])).toBe(1);
      expect(await exists(own.pid!)).toBe(false);
      for (const { pid } of [older, ...others]) expect(await exists(pid!)).toBe(true);
      expect(await endOrphans([{ dir, leader: { pid: 1, started: '' } }])).toBe(0);
      expect(await exists(older.pid!)).toBe(true);
    });
  },
);
