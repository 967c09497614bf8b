import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, scratch } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { copyOfPackage } from '../support/service.ts';

const SUPERVISED = ['dispatch', '--supervised', '--host', 'front', '--interval', '0.2'];
/** Milliseconds; longer than an installation has to remain unchanged. */
const SETTLED_MS = 3200;

/** A tick that a dispatcher made a certain time after a moment. */
async function tickAfter(program: Program, moment: number): Promise<void> {
  await program.saw('tick', ({ ts }) => Date.parse(String(ts)) > moment + SETTLED_MS);
}

it(
  'a new version waits for the run that goes on, and the dispatcher ends with 75 after it',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const go = join(scratch(), 'go');
    const slow = `cat > /dev/null; while [ ! -e '${go}' ]; do sleep 0.05; done; echo pong`;
    const host = await bus.host('front', { worker: slow });
    const { bin, release } = copyOfPackage();
    const program = new Program({ env: host.env, dir: host.dir, bin }, ...SUPERVISED);
    await program.saw('tick');
    await host.send('worker', 'ping');
    await program.saw('dispatch_start');
    release('6.0.1');
    await tickAfter(program, Date.now());
    expect(program.running).toBe(true);
    writeFileSync(go, '');
    expect(await program.ended()).toBe(75);
    const events = program.events.map(({ event }) => event);
    expect(events.indexOf('dispatch_done')).toBeLessThan(events.indexOf('dispatcher_replaced'));
    expect(program.events.at(-1)).toMatchObject({ from: '6.0.0', to: '6.0.1' });
    expect(bus.from('worker')).toHaveLength(1);
    // The program that is started next has nothing to replace.
    const next = new Program({ env: host.env, dir: host.dir, bin }, ...SUPERVISED);
    const { ts } = await next.saw('tick');
    await tickAfter(next, Date.parse(String(ts)));
    expect(await next.stop('SIGTERM')).toBe(0);
  },
);

it(
  'a version that cannot start replaces nothing, and the dispatcher goes on',
  { tags: 'slow' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'cat > /dev/null; echo pong' });
    const { bin, main, release } = copyOfPackage();
    const program = new Program({ env: host.env, dir: host.dir, bin }, ...SUPERVISED);
    await program.saw('tick');
    const whole = readFileSync(main);
    writeFileSync(main, 'throw new Error("half a build")');
    const failed = await program.saw('replacement_failed');
    expect(failed['reason']).toContain('half a build');
    await host.send('worker', 'ping');
    await program.saw('dispatch_done');
    expect(program.running).toBe(true);
    // Neither does one that is incomplete.
    rmSync(main);
    await tickAfter(program, Date.now());
    writeFileSync(`${main}.new`, whole);
    renameSync(`${main}.new`, main);
    release('6.0.2');
    expect(await program.ended()).toBe(75);
    expect(program.events.filter(({ event }) => event === 'replacement_failed')).toHaveLength(1);
  },
);

it(
  'a run whose answer is checked is not made in vain where the installation vanishes meanwhile',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const { bin, main } = copyOfPackage();
    const checker = join(dirname(main), 'schema-packages.cjs');
    const host = await bus.host('front', {
      worker: `cat > /dev/null; mv '${checker}' '${checker}.old' && echo '{"a":1}'`,
    });
    const schema = join(bus.root, 'schema.json');
    writeFileSync(schema, '{"type":"object","required":["a"]}');
    await host.send('worker', 'count', '--schema', schema);
    const program = new Program({ env: host.env, dir: host.dir, bin }, ...SUPERVISED);
    await program.saw('dispatch_done');
    expect(bus.from('worker').map(({ message }) => message.body)).toEqual(['{"a":1}\n']);
  },
);
