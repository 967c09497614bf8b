import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Bus, events, type Actors, type Event, type Host } from '../support/bus.ts';
import { localTime } from '../../src/present/times.ts';

const LIMIT =
  'ERROR: You’ve hit your usage limit. Visit https://example.com or try again in 1 hour.\n';
const TOO_LONG =
  "ERROR: Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.\n";

type Tiers = Exclude<Actors[string], string>;

/** A machine with an actor `lead` and agent CLIs that refuse as the files of a folder say. */
class Machine {
  readonly bus = new Bus();
  readonly folder = join(this.bus.root, 'refusals');

  async host(tiers: Tiers): Promise<Host> {
    const bin = join(this.bus.root, 'bin');
    const home = join(this.bus.root, 'home');
    for (const made of [this.folder, bin, home]) mkdirSync(made);
    for (const name of ['codex', 'pi']) symlinkSync(agent('refusing'), join(bin, name));
    const host = await this.bus.host('front', { lead: tiers });
    const PATH = `${bin}:${process.env['PATH'] ?? ''}`;
    Object.assign(host.env, { PATH, HOME: home, REFUSALS: this.folder });
    return host;
  }

  says(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  works(name: string): void {
    rmSync(join(this.folder, name));
  }

  get runs(): string {
    return readFileSync(join(this.folder, 'runs'), 'utf8').trim().split('\n').join(' ');
  }

  /** The answers of the actor: body, tier and the tier that was asked for. */
  get answers(): unknown[] {
    return this.bus
      .from('lead')
      .filter(({ message }) => message.interim !== true && message.type === 'text')
      .map(({ message: { body, tier, extra } }) => [body.trim(), tier, extra['tier_asked']]);
  }
}

async function pass(host: Host): Promise<Event[]> {
  const ran = await host.run('dispatch', '--once', '--host', host.alias);
  expect(ran.code, ran.err).toBe(0);
  return events(ran.err);
}

const named = (log: readonly Event[], name: string): Event[] =>
  log.filter(({ event }) => event === name);

it(
  'while an account is held, the next tier answers and says so, and later mail does not try the first',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const host = await machine.host({
      large: { cli: 'codex exec -', fallback: 'small' },
      small: { cli: 'pi -p' },
    });
    machine.says('codex', LIMIT);
    const question = await host.send('lead', 'one');
    const log = await pass(host);
    expect(named(log, 'fallback')).toHaveLength(1);
    expect(named(log, 'fallback')[0]).toMatchObject({ tier: 'large', instead: 'small' });
    expect(machine.answers).toEqual([['pi answers', 'small', 'large']]);
    await host.send('lead', 'two');
    await pass(host);
    expect(machine.runs).toBe('codex pi pi');

    const until = String(named(log, 'fallback')[0]?.['until']);
    const status = (await host.run('status')).out;
    expect(status).toContain(
      `lead runs on small: codex is held until ${localTime(new Date(until))}`,
    );
    expect(status).not.toContain('mail for lead waits');
    expect((await host.run('explain', question, 'lead')).out).not.toContain('rate limited');

    // A tier that is asked for by name is tried as it is, and has no fallback of its own here.
    machine.works('codex');
    await host.run('resume');
    await host.send('lead', 'three');
    await pass(host);
    expect(machine.answers.at(-1)).toEqual(['codex answers', undefined, undefined]);
  },
);

it('a tier that a message names comes first, and its own fallback after it', async () => {
  const machine = new Machine();
  const host = await machine.host({
    large: { cli: 'echo large answers', fallback: 'small' },
    small: { cli: 'exit 3', fallback: ['large'], fallback_after: 1, retry_delay: '20ms' },
  });
  const running = host.start();
  await host.run('send', '--to', 'lead', '--tier', 'small', 'one');
  await running.saw('dispatch_done');
  expect(machine.answers).toEqual([['large answers', 'large', 'small']]);
  const started = running.events.filter(({ event }) => event === 'dispatch_start');
  expect(started.map(({ tier }) => tier)).toEqual(['small', 'large']);
});

it(
  'after two failures the next tier takes a delivery, and when all have failed it is quarantined',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const cli = (name: string): string => `echo ${name} >> "$REFUSALS/runs"; exit 3`;
    const host = await machine.host({
      large: { cli: cli('large'), fallback: ['medium', 'large'], retry_delay: '20ms' },
      medium: { cli: cli('medium'), fallback: 'small', fallback_after: 1, retry_delay: '20ms' },
      small: { cli: cli('small'), fallback: 'large', attempts: 2, retry_delay: '20ms' },
    });
    await host.send('lead', 'one');
    const running = host.start();
    await running.saw('quarantined');
    expect(machine.runs).toBe('large large medium small small');
    const [letter] = JSON.parse((await host.run('dlq', '--json')).out) as Record<string, unknown>[];
    expect(letter).toMatchObject({ tier: 'small', tier_asked: 'large', attempts: 5 });
    expect(letter?.['attempts_allowed']).toBe(5);
    const shown = (await host.run('dlq', '--show', String(letter?.['id']))).out;
    expect(shown).toMatch(/tier_asked +large/);
    expect(shown).toContain('{"large":2,"medium":1,"small":2}');

    // Another round begins with the tier that was asked for.
    await host.run('dlq', '--retry', 'all');
    await running.saw('quarantined', (one) => one['attempts'] === 10);
    expect(machine.runs).toBe('large large medium small small '.repeat(2).trim());
  },
);

it(
  'a command that does not exist is not tried twice where there is another tier',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const host = await machine.host({
      large: { cli: 'no-such-agent-cli', fallback: 'small', retry_delay: '20ms' },
      small: { cli: 'echo small answers' },
    });
    await host.send('lead', 'one');
    const running = host.start();
    await running.saw('dispatch_done');
    expect(running.events.filter(({ event }) => event === 'dispatch_failed')).toHaveLength(1);
    expect(machine.answers).toEqual([['small answers', 'small', 'large']]);
  },
);

it('when the budget of a tier is spent, the next one takes the mail, and nobody is told before none is left', async () => {
  const machine = new Machine();
  const cli = agent('billed/claude', '-p', 'answer');
  const host = await machine.host({
    large: { cli, max_usd_per_day: '0.25', fallback: 'small' },
    small: { cli, max_usd_per_day: '0.50' },
  });
  for (let n = 0; n < 3; n++) {
    await host.send('lead', `task ${String(n)}`);
    await pass(host);
  }
  const told = (): unknown[] =>
    machine.bus.from('lead').filter(({ message }) => message.interim === true);
  expect(machine.answers.map((answer) => (answer as unknown[])[1])).toEqual([
    undefined,
    'small',
    'small',
  ]);
  expect(told()).toHaveLength(0);
  const running = host.start();
  await host.send('lead', 'task 3');
  await running.saw('parked', ({ tier }) => tier === 'small');
  await expect.poll(() => told().length, { timeout: 120_000 }).toBe(1);
  expect(machine.answers).toHaveLength(3);
  await host.run('resume', '--for', 'lead');
  await running.saw('dispatch_done');
  expect(machine.answers.at(-1)).toEqual(['It is done.', undefined, undefined]);
});

it(
  'mail that goes on over a budget does not use up the hourly limit of the tier that it leaves',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const cli = agent('billed/claude', '-p', 'answer');
    const host = await machine.host({
      large: { cli, max_usd_per_day: '0.25', max_runs_per_hour: 2, fallback: 'small' },
      small: { cli: 'echo small answers' },
    });
    for (let n = 0; n < 5; n++) {
      await host.send('lead', `task ${String(n)}`);
      await pass(host);
    }
    const small = ['small answers', 'small', 'large'];
    const large = ['It is done.', undefined, undefined];
    expect(machine.answers).toEqual([large, small, small, small, small]);
  },
);

it(
  'an answer from another tier does not ask the coordinator for that tier',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {
      boss: { default: agent('coordinator', 'lead'), cheap: 'echo must not run' },
      lead: {
        large: { cli: 'no-such-agent-cli', fallback: 'cheap', retry_delay: '20ms' },
        cheap: 'echo done',
      },
    });
    const question = await host.send('boss', 'a goal');
    host.start();
    expect((await host.run('replies', '--wait', question)).out).toMatch(/^ {2}done/m);
    const [answer] = bus.from('lead').map(({ message }) => message);
    expect(answer?.tier).toBeUndefined();
    expect(answer?.extra).toEqual({ tier_asked: 'large' });
  },
);

it('a prompt that is too long is tried once more with half of the thread, then it has failed', async () => {
  const machine = new Machine();
  const host = await machine.host({ default: { cli: 'codex exec -', retry_delay: '20ms' } });
  await host.send('lead', 'one');
  const running = host.start();
  for (let n = 1; n <= 4; n++) {
    await running.saw('dispatch_done', (one) => running.events.indexOf(one) > 0 && done() === n);
    const newest = machine.bus.from('lead').at(-1);
    if (n === 4) machine.says('codex', TOO_LONG);
    await host.run('reply', newest?.relPath ?? '', `and ${String(n)}`);
  }
  const failed = await running.saw('quarantined');
  expect(failed['reason']).toBe('prompt_too_long');
  expect(machine.runs).toBe('codex codex codex codex codex codex');
  const [whole, half] = [5, 6].map((n) =>
    readFileSync(join(machine.folder, `prompt.codex.${String(n)}`), 'utf8'),
  );
  const gap = 'messages of this thread are left out here';
  expect(whole).not.toContain(gap);
  expect(half).toContain(gap);
  expect((half ?? '').length).toBeLessThan((whole ?? '').length);
  expect((await host.run('dlq')).out).toContain('ran out of room');

  function done(): number {
    return running.events.filter(({ event }) => event === 'dispatch_done').length;
  }
});

it(
  'a fallback that names no tier is refused, and one that is pushed waits for approval',
  { tags: 'long' },
  async () => {
    const machine = new Machine();
    const host = await machine.host({ large: { cli: 'codex exec -' }, small: { cli: 'pi -p' } });
    const wrong = await host.run('actor', 'set', 'lead', 'fallback=smal');
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('fallback names "smal", which is no tier of lead');
    const set = await host.run('actor', 'set', 'lead', 'fallback=small');
    expect(set.code, set.err).toBe(0);
    expect(set.out).toContain('small');
    expect((await host.run('host', 'show')).out).toContain('fallback');
    expect((await host.run('doctor')).out).not.toContain('held');
    machine.says('codex', LIMIT);
    await host.send('lead', 'one');
    await pass(host);
    expect(machine.answers).toEqual([['pi answers', 'small', 'large']]);
  },
);
