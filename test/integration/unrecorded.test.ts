import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { canFail, onFailingDisk } from '../support/mounts.ts';
import { Program } from '../support/process.ts';
import { refuse, rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

/** What a run may come to, and what the state has to take of it first. */
const ENDS = {
  'an answer': { cli: 'echo the answer', kind: 'outbox', said: ['the answer\n'] },
  silence: { cli: 'true', kind: undefined, said: [] },
  'a failure': { cli: 'exit 3', kind: 'dead-letter', said: ['exit_code', 'exit_code'] },
  'a plan': { cli: 'echo the plan', kind: 'gate', said: ['the plan\n'] },
} as const;
type End = keyof typeof ENDS;

/** A machine whose run has been paid for, and ends once the test lets it. */
class Paid {
  readonly bus = new Bus();
  readonly #gate = join(this.bus.root, 'gate');
  readonly #ledger = join(this.bus.root, 'ledger');
  readonly runtime = join(this.bus.root, 'runtime');
  readonly #end: End;
  readonly #variable: 'XDG_RUNTIME_DIR' | 'TMPDIR';
  host!: Host;
  running!: Program;

  /** @param variable names the folder that takes what the state directory does not */
  constructor(end: End, variable: 'XDG_RUNTIME_DIR' | 'TMPDIR' = 'XDG_RUNTIME_DIR') {
    this.#end = end;
    this.#variable = variable;
    mkdirSync(this.runtime, { mode: 0o700 });
  }

  /** @param place called with the machine before its dispatcher starts */
  async begin(place: (host: Host) => void = () => undefined): Promise<this> {
    const wait = `until test -e ${this.#gate}; do sleep 0.05; done`;
    const cli = `cat > /dev/null; echo run >> ${this.#ledger}; ${wait}; ${ENDS[this.#end].cli}`;
    const gate = this.#end === 'a plan' ? { gate: 'operator', gate_plan: cli } : {};
    this.host = await this.bus.host('front', {
      worker: { default: { cli, attempts: 1, ...gate } },
    });
    this.host.env[this.#variable] = this.runtime;
    await this.host.send('worker', 'a note');
    // An actor may have nothing to say to two of them.
    if (this.#end !== 'a plan') await this.host.send('worker', 'another note');
    place(this.host);
    this.running = this.start();
    await until('the run', () => this.runs === 1);
    return this;
  }

  start(): Program {
    const often = ['--interval', '3600', '--grace', '0'];
    return new Program(this.host, 'dispatch', '--host', 'front', ...often);
  }

  end(): void {
    writeFileSync(this.#gate, '');
  }

  /** How often the CLI ran. */
  get runs(): number {
    try {
      return readFileSync(this.#ledger, 'utf8').split('\n').length - 1;
    } catch {
      return 0;
    }
  }

  get said(): string[] {
    return this.bus.from('worker').map(({ message }) => message.failed?.reason ?? message.body);
  }

  async status(): Promise<{ code: unknown; out: string }> {
    const program = new Program(this.host, 'status', '--check');
    return { code: await program.ended(), out: program.out };
  }

  /** Where an outcome was kept. */
  async stopped(): Promise<string> {
    await this.running.stop('SIGTERM');
    const kept = this.running.events.find(({ event }) => event === 'outcome_kept');
    expect(kept, this.running.err).toBeDefined();
    return String(kept?.['path']);
  }

  /** Starts again, and waits for what the first run has come to. */
  async again(): Promise<Program> {
    const program = this.start();
    await program.saw('tick');
    await until('what was said', () => this.said.length >= ENDS[this.#end].said.length);
    await program.stop('SIGTERM');
    const once = new Program(this.host, 'dispatch', '--once', '--host', 'front');
    expect(await once.ended(), once.err).toBe(0);
    return program;
  }
}

const RED =
  /^stuck: do not restart: an answer is in memory, which cannot be put on record since \d{4}-\S+ [\d:]+: /;

it.each(Object.keys(ENDS) as End[])(
  'status is red as soon as %s cannot be put on record, a stop keeps it, and the next start has it: the CLI runs once',
  async (end) => {
    const { kind, said } = ENDS[end];
    const paid = await new Paid(end).begin();
    expect((await paid.status()).code).toBe(0);
    const mend = refuse(paid.host.state, kind);
    paid.end();
    await paid.running.saw('record_failed');
    const { code, out } = await paid.status();
    expect([code, out]).toEqual([1, expect.stringMatching(RED)]);
    expect(out).toContain('refused by a test');
    const path = await paid.stopped();
    expect(path).toMatch(/-state\/outcomes\/\w{26}\.json$/);
    // A start that cannot put it on record either leaves it where it is.
    expect(await paid.start().ended()).toBe(1);
    mend();
    const next = await paid.again();
    expect(next.events.filter(({ event }) => event === 'outcome_found')).toHaveLength(1);
    expect([paid.runs, paid.said]).toEqual([1, said]);
    expect(readdirSync(join(path, '..'))).toEqual([]);
    expect(rowsIn(paid.host.state, 'run')).toEqual([]);
    expect(rowsIn(paid.host.state, 'interruption')).toEqual([]);
  },
);

it('an outcome that somebody else has put in the place of one that was kept is not believed', async () => {
  const paid = await new Paid('an answer').begin();
  const mend = refuse(paid.host.state, 'outbox');
  paid.end();
  await paid.running.saw('record_failed');
  const path = await paid.stopped();
  mend();
  const kept = readFileSync(path, 'utf8');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  writeFileSync(path, kept.replace('the answer', 'a forgery'));
  const next = await paid.again();
  expect(next.events.filter(({ event }) => event === 'outcome_found')).toEqual([]);
  expect([paid.runs, paid.said]).toEqual([2, ['the answer\n']]);
  // What was kept is of no use once the run was made again, whoever puts it back.
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(path, kept);
  await paid.again();
  expect(paid.said).toEqual(['the answer\n']);
});

const UNLESS = canFail() ? '' : ' (skipped: no disk can be made here)';

it.skipIf(UNLESS !== '').each([
  ['an answer', 'XDG_RUNTIME_DIR'],
  ['silence', 'TMPDIR'],
  ['a failure', 'XDG_RUNTIME_DIR'],
] as const)(
  `%s outlives a stop while the disk of the state takes no writes although space is free${UNLESS}`,
  async (end, variable) => {
    let disk!: ReturnType<typeof onFailingDisk>;
    const paid = await new Paid(end, variable).begin(({ state, bus }) => {
      disk = onFailingDisk(state, join(bus.root, 'image'));
    });
    disk.fail();
    paid.end();
    await paid.running.saw('record_failed');
    const { code, out } = await paid.status();
    expect([code, out]).toEqual([1, expect.stringMatching(RED)]);
    const path = await paid.stopped();
    expect(path.startsWith(`${paid.runtime}/crosstalk-`)).toBe(true);
    disk.mend();
    await paid.again();
    expect([paid.runs, paid.said]).toEqual([1, ENDS[end].said]);
    expect(readdirSync(join(path, '..'))).toEqual([]);
  },
);
