import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { Publisher } from '../../src/bus/publisher.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { exists, Program } from '../support/process.ts';
import { putRow, rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

const dispatch = ['dispatch', '--interval', '0.2', '--host'];

it('a second dispatcher is told who holds the transport, and leaves it alone', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const first = new Program(host, ...dispatch, 'front');
  await first.saw('host_file_loaded');
  const second = await host.run('dispatch', '--once', '--host', 'front');
  expect(second.code).toBe(1);
  expect(second.err).toMatch(
    new RegExp(
      `^crosstalk dispatch: another dispatcher serves .*: process ${String(first.child.pid)}, since `,
    ),
  );
  expect(first.running).toBe(true);
  expect(await first.stop('SIGTERM')).toBe(0);
});

it('the lock and the socket of a killed dispatcher are taken over at once', async () => {
  const host = await new Bus().host('front', { worker: 'echo done' });
  const first = new Program(host, ...dispatch, 'front');
  await first.saw('tick');
  await first.stop('SIGKILL');
  expect(existsSync(join(host.state, 'dispatcher.lock'))).toBe(true);
  expect((await host.once()).at(-1)).toMatchObject({ event: 'dispatcher_stopped' });
});

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s lets a running CLI finish, records its answer and leaves no process',
  async (signal) => {
    const bus = new Bus();
    const [pidFile, gate] = [join(bus.root, 'pid'), join(bus.root, 'gate')];
    const host = await bus.host('front', {
      worker: `echo $$ > ${pidFile}; while test ! -e ${gate}; do sleep 0.05; done; echo finished`,
    });
    const question = await host.send('worker', 'take your time');
    const program = new Program(host, ...dispatch, 'front');
    await until('the CLI', () => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '');
    const stopped = program.stop(signal);
    // The dispatcher hears the signal before it hears that the CLI has ended.
    writeFileSync(gate, '');
    const code = await stopped;
    expect(code).toBe(signal === 'SIGINT' ? 130 : 0);
    expect(await exists(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
    expect(bus.from('worker').map(({ message }) => [message.re, message.body])).toEqual([
      [[question], 'finished\n'],
    ]);
    expect(program.events.at(-1)?.event).toBe('dispatcher_stopped');
  },
);

it('a dispatcher whose log nobody reads any more lets a running CLI finish and records its answer', async () => {
  const bus = new Bus();
  const gate = join(bus.root, 'gate');
  const host = await bus.host('front', {
    worker: `while test ! -e ${gate}; do sleep 0.05; done; crosstalk send --new --anyway --to x note; echo finished`,
  });
  await host.send('worker', 'take your time');
  const program = new Program(host, ...dispatch, 'front');
  await program.saw('dispatch_start');
  // What the run sends is logged, so the dispatcher notices before the run has ended.
  program.child.stderr?.destroy();
  writeFileSync(gate, '');
  expect(await program.ended()).toBe(1);
  expect(bus.from('worker').at(-1)?.message.body).toMatch(/finished\n$/);
});

const namespaces = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];
const mayUnshare = spawnSync('unshare', [...namespaces, 'true']).status === 0;

it.skipIf(!mayUnshare)(
  'a dispatcher that is process 1 is told that it needs an init',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'true' });
    const program = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));
    const run = `'${process.execPath}' '${program}'`;
    const look = `until ${run} status | grep -q ^healthy; do sleep 0.1; done; ${run} doctor > found; kill 1`;
    const { status } = spawnSync(
      'unshare',
      [...namespaces, 'sh', '-c', `(${look}) & exec ${run} ${dispatch.join(' ')} front`],
      { cwd: bus.root, env: { ...process.env, ...host.env, CROSSTALK_TRANSPORT: host.dir } },
    );
    expect(status).toBe(0);
    expect(readFileSync(join(bus.root, 'found'), 'utf8')).toMatch(/process 1[^]*docker run --init/);
  },
);

it('a CLI that outlasts the grace period is ended, and its mail is delivered again without counting as a failure', async () => {
  const bus = new Bus();
  const pidFile = join(bus.root, 'pid');
  const host = await bus.host('front', {
    worker: `test -e ${pidFile} && echo second || { echo $$ > ${pidFile}; sleep 60; }`,
  });
  await host.send('worker', 'hello');
  const program = new Program(host, ...dispatch, 'front', '--grace', '0.2');
  await until('the CLI', () => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '');
  await program.stop('SIGTERM');
  expect(await exists(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  expect(program.events.map(({ event }) => event)).not.toContain('dispatch_failed');
  await host.once();
  expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['second\n']);
});

it('what a dispatcher killed in the middle of a run left behind is ended, and the mail delivered again', async () => {
  const bus = new Bus();
  const pidFile = join(bus.root, 'pid');
  const host = await bus.host('front', {
    worker: `test -e ${pidFile} && echo second || { echo $$ > ${pidFile}; sleep 60; }`,
  });
  await host.send('worker', 'hello');
  const program = new Program(host, ...dispatch, 'front');
  await until('the run record', () => existsSync(pidFile) && rowsIn(host.state, 'run').length > 0);
  await program.stop('SIGKILL');
  const pid = Number(readFileSync(pidFile, 'utf8'));
  expect(await exists(pid)).toBe(true);
  await host.once();
  expect(await exists(pid)).toBe(false);
  expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['second\n']);
});

it('a coordinator killed in the middle of its fan-out is given the question again', async () => {
  const bus = new Bus();
  const pidFile = join(bus.root, 'pid');
  const host = await bus.host('front', {
    boss: `crosstalk send --to nobody "part one" >&2; test -e ${pidFile} && exit 0; echo $$ > ${pidFile}; sleep 60`,
    idle: 'true',
  });
  host.declare({ nobody: 'true' }, 'away');
  await host.once();
  await host.send('boss', 'do both parts');
  const program = new Program(host, ...dispatch, 'front');
  await until('the first part', () => existsSync(pidFile) && bus.from('boss').length === 1);
  await program.stop('SIGKILL');
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'dispatch_start')).toHaveLength(1);
  expect(bus.from('boss')).toHaveLength(2);
});

it('output that was recorded is pushed when the remote is back, and never paid for twice', async () => {
  const bus = new Bus();
  const runs = join(bus.root, 'runs');
  const refuse = join(bus.root, 'refuse');
  const host = await bus.host('front', {
    worker: `echo run >> ${runs}; touch ${refuse}; echo once`,
  });
  writeFileSync(join(bus.hub, 'hooks', 'pre-receive'), `#!/bin/sh\ntest ! -e ${refuse}\n`, {
    mode: 0o755,
  });
  const question = await host.send('worker', 'hello');
  const program = new Program(host, ...dispatch, 'front');
  await program.saw('push_failed');
  await program.stop('SIGKILL');
  expect((await host.run('status')).out).toContain('Outbox');
  rmSync(refuse);
  await host.once();
  expect(bus.from('worker').map(({ message }) => message.re)).toEqual([[question]]);
  expect(readFileSync(runs, 'utf8')).toBe('run\n');
  expect(rowsIn(host.state, 'outbox')).toEqual([]);
});

it('a reply that reached the remote before a crash is recognised there by its path', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo once' });
  await host.send('worker', 'hello');
  const running = host.start();
  await running.saw('dispatch_done');
  await running.stop();
  const [reply] = bus.from('worker');
  const path = `data/channels/${reply!.channel}/${reply!.relPath}`;
  const entry = {
    id: '01J0000000000000000000000A',
    commits: [
      {
        at: new Date().toISOString(),
        author: { name: 'worker', email: 'w@x' },
        subject: 'again',
        files: [{ path, content: git(bus.hub, 'show', `main:${path}`) }],
      },
    ],
  };
  putRow(host.state, 'outbox', entry);
  expect(rowsIn(host.state, 'outbox')).toHaveLength(1);
  const before = git(bus.hub, 'rev-parse', 'main');
  await host.run('sync');
  expect(git(bus.hub, 'rev-parse', 'main')).toBe(before);
  expect(rowsIn(host.state, 'outbox')).toEqual([]);
});

it('a tier’s count lets runs go on side by side, a count of one does not', async () => {
  const bus = new Bus();
  const met = join(bus.root, 'met');
  // Whoever comes first stays until two runs of the other actor have met.
  const cliOf = (busy: string, second: string): string =>
    `if mkdir ${busy} 2>/dev/null; then while test ! -e ${met}; do sleep 0.05; done; rmdir ${busy}; echo alone; else ${second}echo together; fi`;
  const host = await bus.host('front', {
    single: cliOf(join(bus.root, 'single'), ''),
    many: { default: { cli: cliOf(join(bus.root, 'many'), `touch ${met}; `), count: 2 } },
  });
  const second = (await host.run('channel', 'create', 'second')).out.trim();
  for (const actor of ['single', 'many']) {
    await host.send(actor, 'one', '--channel', 'general');
    await host.send(actor, 'two', '--channel', second);
  }
  await host.once();
  expect(bus.from('single').map(({ message }) => message.body)).toEqual(['alone\n', 'alone\n']);
  expect(
    bus
      .from('many')
      .map(({ message }) => message.body)
      .sort(),
  ).toEqual(['alone\n', 'together\n']);
});

it('a changed command is held until it is approved, and runs afterwards', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo approved' });
  const running = host.start();
  await running.saw('host_file_loaded');
  host.declare({ worker: 'echo sneaked in', intruder: 'echo new' });
  const held = await running.saw('host_change_held');
  expect(held).toMatchObject({
    actor: 'worker',
    approved: 'echo approved',
    proposed: 'echo sneaked in',
  });
  const first = await host.send('worker', 'which?');
  expect((await host.run('replies', '--wait', first)).out).toContain('  approved');
  await host.send('intruder', 'waits');
  expect((await host.run('status')).out).toContain('Held changes');
  const shown = await host.run('host', 'show', '--host', 'front');
  expect(shown.out).toContain('  cli\n  - "echo approved"\n  + "echo sneaked in"\n');
  expect((await host.approve()).map(({ digest }) => digest)).toContain(held['digest']);
  const second = await host.send('worker', 'and now?');
  expect((await host.run('replies', '--wait', second)).out).toContain('  sneaked in');
  await until('the mail that waited', () => bus.from('intruder').length === 1);
});

it('without a matching host file the dispatcher says so, idles, and starts once there is one', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const program = new Program(host, ...dispatch, 'late');
  const missing = await program.saw('host_file_missing');
  expect(missing['problem']).toContain('no host file says alias: late');
  host.edit({
    'hosts/late.md': '---\nalias: late\nactors:\n  worker:\n    default: echo late but here\n---\n',
  });
  await program.saw('host_file_loaded');
  const { digest } = await program.saw('host_change_held');
  await host.run('host', 'approve', '--host', 'late', String(digest));
  const question = await host.send('worker', 'hello');
  expect((await host.run('replies', '--wait', question)).out).toContain('late but here');
});

it('a broken host file leaves the last good one in force, also after a restart', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo still here' });
  await host.once();
  host.edit({ 'hosts/front.md': '---\nalias: front\nactors: [oops\n---\n' });
  const question = await host.send('worker', 'hello');
  const log = await host.once();
  expect(log.find(({ event }) => event === 'host_file_invalid')?.['problem']).toContain(
    'hosts/front.md',
  );
  expect((await host.run('replies', question)).out).toContain('still here');
});

it('an empty answer to one question is a failure; after sending something it is not', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    mute: { default: { cli: 'true', attempts: 1 } },
    busy: 'crosstalk send --to other hello >&2',
    other: 'echo hi',
  });
  await host.send('mute', 'say something');
  await host.send('busy', 'do something');
  const log = await host.once();
  expect(log.find(({ event }) => event === 'dispatch_failed')).toMatchObject({
    actor: 'mute',
    reason: 'empty_answer',
  });
  expect(log.find(({ event }) => event === 'dispatch_silent')).toMatchObject({ actor: 'busy' });
});

it('a batch that fails is tried again message by message, so one poison message fails alone', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: {
      default: {
        cli: 'if grep -q "^poison$"; then exit 1; else echo fine; fi',
        retry_delay: '20ms',
        attempts: 2,
      },
    },
  });
  const good = [await host.send('worker', 'one'), await host.send('worker', 'two')];
  const bad = await host.send('worker', 'poison');
  const running = host.start();
  await running.saw('quarantined');
  for (const question of good)
    expect((await host.run('replies', '--wait', question)).out).toContain('  fine');
  // A letter is removed a moment after its answer has reached the bus.
  const left = await until('the letter that stays', async () => {
    const letters = JSON.parse((await host.run('dlq', '--json')).out) as { messages: string[] }[];
    return letters.length === 1 && letters.map(({ messages }) => messages);
  });
  expect(left).toEqual([[bad]]);
});

it('a commit names the logical author and this machine’s committer', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'hello');
  await host.once();
  expect(git(bus.hub, 'log', '-1', '--format=%an <%ae> %cn <%ce>', 'main').trim()).toBe(
    'worker <worker@front.crosstalk.local> crosstalk <crosstalk@crosstalk.local>',
  );
});

it('--from-now leaves what is there and delivers what comes', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'old');
  await host.once('--from-now');
  const fresh = await host.send('worker', 'new');
  await host.once();
  expect(bus.from('worker').map(({ message }) => message.re)).toEqual([[fresh]]);
});

it('a message that was edited or deleted is said so, and delivered no second time', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const sent = await host.send('worker', 'hello');
  await host.once();
  const path = `data/channels/${host.channel()}/${sent}`;
  host.edit({ [path]: git(bus.hub, 'show', `main:${path}`).replace('hello', 'edited') });
  const log = await host.once();
  expect(log).toContainEqual(
    expect.objectContaining({ event: 'message_changed', path, change: 'edited' }),
  );
  expect(log.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
});

it('a tier that has used up max_runs_per_hour parks its mail, also after a restart, and status says so', async () => {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: { default: { cli: 'echo done', max_runs_per_hour: 2 } },
  });
  for (const text of ['one', 'two']) {
    await host.send('worker', text);
    await host.once();
  }
  await host.send('worker', 'three');
  const running = host.start();
  expect(await running.saw('parked')).toMatchObject({
    actor: 'worker',
    reason: 'max_runs_per_hour',
  });
  await running.saw('tick', (tick) => tick['pending'] === 1);
  expect((await host.run('status')).out).toMatch(/^stuck: mail for worker is parked until /);
  expect(bus.from('worker')).toHaveLength(2);
  await running.stop();
  expect((await host.run('status')).out).toMatch(
    /mail for worker is parked until .*max_runs_per_hour/,
  );
});

it('a thread that grows too deep is parked, not retried, and runs when an operator releases it', async () => {
  const bus = new Bus();
  const ask = (peer: string): string => `crosstalk send --to ${peer} "over to you" >&2`;
  const tier = (peer: string): object => ({ default: { cli: ask(peer), max_depth: 5 } });
  const host = await bus.host('front', {
    ping: tier('pong') as never,
    pong: tier('ping') as never,
  });
  await host.send('ping', 'go');
  const running = host.start();
  const parked = await running.saw('parked');
  expect(parked).toMatchObject({ reason: 'too_deep' });
  // A message that a run sends is parked while that run is still active.
  await until('five runs', () => running.count('dispatch_done') >= 5);
  const runs = running.count('dispatch_done');
  expect(runs).toBe(5);
  expect((await host.run('status')).out).toContain(
    'parked deliveries of threads that are too deep: 1',
  );
  await host.run('dlq', '--retry', String(parked['id']));
  await until('one more run', () => running.count('dispatch_done') > runs);
});

it('pause lets nothing start and resume lets it go on', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.run('pause');
  const question = await host.send('worker', 'hello');
  const running = host.start();
  expect(await running.saw('parked')).toMatchObject({ reason: 'paused', by: 'operator' });
  expect((await host.run('status')).out).toMatch(
    // The first line may still say that the dispatcher has only just started.
    /^(?:stuck:| {6}) paused by operator since .*; go on with: crosstalk resume$/m,
  );
  expect((await host.run('resume')).out).toMatch(/^Resumed; /);
  expect((await host.run('replies', '--wait', question)).out).toContain('  done');
});

it('an idle bus costs no run', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  await host.send('worker', 'hello');
  await host.once();
  const running = host.start();
  await until(
    'twenty ticks',
    () => running.events.filter(({ event }) => event === 'tick').length > 20,
  );
  expect(running.events.filter(({ event }) => event === 'dispatch_start')).toEqual([]);
});

it('a host file that is removed leaves nobody to serve, and mail waits until it is back', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const running = host.start();
  await running.saw('host_file_loaded');
  host.remove('hosts/front.md');
  await running.saw('host_file_missing');
  const question = await host.send('worker', 'anybody?');
  expect((await host.run('status')).out).toMatch(/^stuck: .*no host file says alias: front/m);
  host.declare({ worker: 'echo done' });
  expect((await host.run('replies', '--wait', question)).out).toContain('  done');
});

it('a second file that claims this machine’s alias is reported, and changes nothing, also after a restart', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const running = host.start();
  await running.saw('host_file_loaded');
  host.edit({
    'hosts/impostor.md': '---\nalias: front\nactors:\n  worker:\n    default: echo impostor\n---\n',
  });
  const said = await running.saw('host_file_invalid');
  expect(said['problem']).toContain(
    '"hosts/impostor.md" claims to be the host file of front, which is hosts/front.md',
  );
  for (const restart of [false, true]) {
    if (restart) await running.stop();
    const question = await host.send('worker', 'who is it?');
    if (restart) await host.once();
    expect((await host.run('replies', '--wait', question)).out).toContain('  done');
  }
});

it('two host files neither of which is named after the alias: it says which, and serves neither', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const text = '---\nalias: late\nactors:\n  worker:\n    default: echo late\n---\n';
  host.edit({ 'hosts/one.md': text, 'hosts/two.md': text });
  const program = new Program(host, ...dispatch, 'late');
  const said = await program.saw('host_file_missing');
  expect(said['problem']).toContain(
    'several host files say alias: late: hosts/one.md, hosts/two.md',
  );
});

it('an actor without a profile is run all the same', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { stranger: 'grep -c "Your profile" || echo none' });
  await host.send('stranger', 'who are you?');
  await host.once();
  expect(bus.from('stranger').map(({ message }) => message.body)).toEqual(['0\nnone\n']);
  expect((await host.run('actor', 'show', 'stranger')).out).toMatch(/profile +none/);
});

it('a sync while an answer is being pushed leaves the run that wrote it to end', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'echo done' });
  const running = host.start('--interval', '60');
  await running.saw('tick');
  const [pushing, gate] = [join(bus.root, 'pushing'), join(bus.root, 'gate')];
  const wait = `while test ! -e ${gate}; do sleep 0.05; done`;
  writeFileSync(
    join(bus.hub, 'hooks', 'pre-receive'),
    `#!/bin/sh\nread old new ref\ncase "$(git log -1 --format=%an $new)" in worker*) touch ${pushing}; ${wait};; esac\n`,
    { mode: 0o755 },
  );
  await host.send('worker', 'one');
  await until('the push of the answer', () => (existsSync(pushing) ? true : undefined));
  const asked = vi.spyOn(Publisher.prototype, 'publish');
  const syncing = host.run('sync');
  await until('the sync to ask for the push', () => asked.mock.calls.length > 0);
  asked.mockRestore();
  writeFileSync(gate, '');
  expect((await syncing).out).toContain('Pushed: 1');
  await running.saw('dispatch_done');
  await running.stop();
});
