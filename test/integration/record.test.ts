import { existsSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { refuse } from '../support/rows.ts';
import { until } from '../support/wait.ts';

it.each([
  ['an answer', 'outbox', 'echo run >> $LEDGER; echo the answer', 'dispatch_done'],
  ['a failure', 'dead-letter', 'echo run >> $LEDGER; exit 3', 'dead_letter'],
])(
  '%s that the disk does not take at first is kept until it does, and not paid for twice',
  async (_, kind, cli, done) => {
    const bus = new Bus();
    const ledger = join(bus.root, 'ledger');
    const gate = join(bus.root, 'gate');
    const wait = `for i in $(seq 300); do test -e ${gate} && break; sleep 0.1; done`;
    const host = await bus.host('front', {
      worker: { default: { cli: `LEDGER=${ledger}; ${wait}; ${cli}`, attempts: 1 } },
    });
    const running = host.start();
    await host.send('worker', 'hello');
    await running.saw('dispatch_start');
    const mend = refuse(host.state, kind);
    writeFileSync(gate, '');
    const failed = await running.saw('record_failed');
    expect(failed['reason']).toMatch(/refused by a test/);
    mend();
    await running.saw(done);
    await until('the end of the run', async () => {
      const { out } = await host.run('status', '--json');
      const { dispatcher } = JSON.parse(out) as { dispatcher: { running: unknown[] } | null };
      return dispatcher?.running.length === 0;
    });
    expect(readFileSync(ledger, 'utf8')).toBe('run\n');
    await running.stop();
    await host.once();
    expect(readFileSync(ledger, 'utf8')).toBe('run\n');
    const said = bus.from('worker').map(({ message }) => message.failed?.reason ?? message.body);
    expect(said).toEqual([kind === 'outbox' ? 'the answer\n' : 'exit_code']);
  },
);

it('what a run has said is looked at again where that fails, and the run is not made again', async () => {
  const bus = new Bus();
  const ledger = join(bus.root, 'ledger');
  const host = await bus.host('front', {});
  const sent = `'${host.state}/runs/'"$CROSSTALK_DISPATCH_ID.sent"`;
  host.declare({ worker: `cat > /dev/null; echo run >> ${ledger}; mkdir ${sent}; echo done` });
  await host.approve();
  await host.send('worker', 'hello');
  const running = host.start();
  const { id, reason } = await running.saw('record_failed');
  expect(reason).toMatch(/EISDIR/);
  await until('the reason in status', async () =>
    /^stuck: do not restart: an answer is in memory, which cannot be put .* since .*EISDIR/.test(
      (await host.run('status')).out,
    ),
  );
  rmdirSync(join(host.state, 'runs', `${String(id)}.sent`));
  await running.saw('dispatch_done');
  expect(readFileSync(ledger, 'utf8')).toBe('run\n');
  expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['done\n']);
});

it('a run that ended in time while its dispatcher was stopped is heard, and not paid for twice', async () => {
  const bus = new Bus();
  const [ledger, gate, ended] = ['ledger', 'gate', 'ended'].map((name) => join(bus.root, name)) as [
    string,
    string,
    string,
  ];
  const wait = `while test ! -e ${gate}; do sleep 0.05; done`;
  const cli = `echo run >> ${ledger}; ${wait}; echo in time; touch ${ended}`;
  const [limit, late] = [5000, 1000];
  const timeout = `${String(limit)}ms`;
  const host = await bus.host('front', { worker: { default: { cli, timeout } } });
  const program = new Program(host, 'dispatch', '--host', 'front', '--interval', '0.2');
  await program.saw('host_file_loaded');
  await host.send('worker', 'hello');
  await until('the run', () => existsSync(ledger));
  const begunBefore = performance.now();
  program.child.kill('SIGSTOP');
  writeFileSync(gate, '');
  await until('its end', () => existsSync(ended));
  // A dispatcher that is late by more than a second has been stopped.
  const isTimeUp = (): boolean => performance.now() > begunBefore + limit + late;
  await until('the time that the run may take to be over', isTimeUp);
  program.child.kill('SIGCONT');
  await until('the answer', () => bus.from('worker').length === 1);
  await program.stop('SIGTERM');
  expect(readFileSync(ledger, 'utf8')).toBe('run\n');
  expect(program.events.map(({ event }) => event)).not.toContain('dispatch_failed');
});

it(
  'a message that a stopped dispatcher does not take over is queued, and the process is named',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo done' });
    const program = new Program(host, 'dispatch', '--host', 'front', '--interval', '0.2');
    await program.saw('host_file_loaded');
    program.child.kill('SIGSTOP');
    const sent = await host.run('send', '--to', 'worker', 'hello');
    expect(sent.code, sent.err).toBe(0);
    expect(sent.err).toContain(
      `the dispatcher (process ${String(program.child.pid)}) has not answered for 30 s; crosstalk status says how it is`,
    );
    expect(bus.messages()).toEqual([]);
    program.child.kill('SIGCONT');
    await until('the answer', () => bus.from('worker').length === 1);
    await program.stop('SIGTERM');
    expect(bus.messages()).toHaveLength(2);
  },
);

it('an agent that kills its dispatcher each time is set aside after some of them, not run for ever', async () => {
  const bus = new Bus();
  const ledger = join(bus.root, 'ledger');
  const host = await bus.host('front', {
    worker: `echo run >> ${ledger}; grep -q '^kill' && kill -9 $PPID; echo fine`,
  });
  await host.send('worker', 'kill it');
  for (let start = 0; start < 5; start++) {
    const program = new Program(host, 'dispatch', '--host', 'front', '--interval', '0.2');
    expect(await program.ended()).toBe('SIGKILL');
  }
  const running = host.start();
  expect(await running.saw('quarantined')).toMatchObject({ reason: 'interrupted', attempts: 5 });
  await host.send('worker', 'another', '--from', 'ann');
  await until('the answer', () => bus.from('worker').length === 2);
  expect(readFileSync(ledger, 'utf8')).toBe('run\n'.repeat(6));
  const failures = bus.from('worker').flatMap(({ message }) => message.failed?.reason ?? []);
  expect(failures).toEqual(['interrupted']);
  expect((await host.run('dlq')).out).toContain('5 times in a row');
});
