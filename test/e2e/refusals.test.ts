import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Bus, type Actors, type Host } from '../support/bus.ts';
import { localTime } from '../../src/present/times.ts';

const LIMIT =
  'ERROR: You’ve hit your usage limit. Visit https://example.com to purchase more credits';
const ONE_HOUR = `${LIMIT} or try again in 1 hour.\n`;
const NO_LOGIN = 'ERROR: unexpected status 401 Unauthorized: Incorrect API key provided: x\n';

/** A machine with agent CLIs of these names, which behave as the files of a folder describe. */
class Refusing {
  readonly bus = new Bus();
  readonly folder = join(this.bus.root, 'refusals');
  readonly home = join(this.bus.root, 'home');

  async host(actors: Actors): Promise<Host> {
    const bin = join(this.bus.root, 'bin');
    for (const made of [this.folder, this.home, bin]) mkdirSync(made);
    for (const name of ['claude', 'codex', 'pi']) symlinkSync(agent('refusing'), join(bin, name));
    const host = await this.bus.host('front', actors);
    Object.assign(host.env, {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: this.home,
      REFUSALS: this.folder,
    });
    return host;
  }

  says(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  works(name: string): void {
    rmSync(join(this.folder, name));
  }

  get runs(): string[] {
    return readFileSync(join(this.folder, 'runs'), 'utf8').trim().split('\n');
  }
}

const letters = async (host: Host): Promise<unknown> =>
  JSON.parse((await host.run('dlq', '--json')).out);

it('a CLI that is rate limited has not failed: its mail waits, status says until when, and others go on', async () => {
  const world = new Refusing();
  const host = await world.host({ first: 'codex exec -', other: 'echo done' });
  world.says('codex', ONE_HOUR);
  const question = await host.send('first', 'hello');
  const running = host.start();
  const parked = await running.saw('parked');
  expect(parked).toMatchObject({
    actor: 'first',
    tier: 'default',
    cli: 'codex',
    reason: 'rate_limited',
    messages: [question],
    said: ONE_HOUR.trim(),
  });
  const until = String(parked['until']);
  expect(Date.parse(until)).toBeGreaterThan(Date.now() + 50 * 60_000);
  const unharmed = await host.send('other', 'hello');
  expect((await host.run('replies', '--wait', unharmed)).out).toContain('  done');
  await running.saw('tick', (tick) => tick['pending'] === 1);
  const { out } = await host.run('status');
  expect(out.split('\n')[0]).toBe(
    `stuck: codex is rate limited until ${localTime(new Date(until))}, so mail for first waits (it says: ${ONE_HOUR.trim()}); it goes on automatically, or try now with: crosstalk resume`,
  );
  expect(out).toMatch(/Held agent CLIs\n {2}codex {2}rate_limited {2}since /);
  expect((await host.run('explain', question, 'first')).out).toContain(
    `rate limited, tried again at ${until}`,
  );
  expect((await host.run('thread', question)).out).toContain(
    `waiting for first: rate limited until ${until}`,
  );
  expect((await host.run('doctor')).out).toContain(
    'broken account of codex: codex is rate limited',
  );
  expect(running.count('dispatch_failed')).toBe(0);
  expect(await letters(host)).toEqual([]);
});

it('when a hold is over by itself, its mail is answered', async () => {
  const world = new Refusing();
  const host = await world.host({ first: 'pi -p' });
  world.says('pi.1', '429 Rate limit reached for gpt-5. Please try again in 1.5s.\n');
  const question = await host.send('first', 'hello');
  const running = host.start('--interval', '3600');
  expect((await host.run('replies', '--wait', question)).out).toContain('  pi answers');
  expect(running.count('parked')).toBe(1);
  expect(running.count('dispatch_start')).toBe(2);
  expect((await host.run('status')).out).toMatch(/^healthy/);
});

it('one run finds out whether a hold is over, however many actors wait for it', async () => {
  const world = new Refusing();
  const host = await world.host({ a: 'codex exec -', b: 'codex exec --json -', c: 'codex exec -' });
  world.says('codex', ONE_HOUR);
  const questions = [await host.send('a', 'hello')];
  const running = host.start();
  const first = await running.saw('parked', ({ actor }) => actor === 'a');
  for (const name of ['b', 'c']) {
    questions.push(await host.send(name, 'hello'));
    await running.saw('parked', ({ actor }) => actor === name);
  }
  expect(world.runs).toEqual(['codex']);

  expect((await host.run('resume')).out).toBe('Trying again: codex (rate limited)\n');
  const again = await running.saw('parked', ({ id }) => id !== undefined && id !== first['id']);
  await running.saw('tick', (tick) => running.events.indexOf(tick) > running.events.indexOf(again));
  expect(world.runs).toEqual(['codex', 'codex']);

  world.works('codex');
  await host.run('resume');
  for (const question of questions)
    expect((await host.run('replies', '--wait', question)).out).toContain('  codex answers');
  expect(world.runs).toHaveLength(5);
  expect(running.count('dispatch_failed')).toBe(0);
});

it('a CLI nobody is logged in to is held, also over a restart, until somebody logs in', async () => {
  const world = new Refusing();
  const host = await world.host({ first: 'codex exec -' });
  world.says('codex', NO_LOGIN);
  const question = await host.send('first', 'hello');
  const log = await host.once();
  expect(log.filter(({ event }) => event === 'parked')).toMatchObject([
    { actor: 'first', reason: 'not_logged_in' },
  ]);
  expect((await host.once()).map(({ event }) => event)).not.toContain('dispatch_start');
  expect((await host.run('status', '--host', 'front')).out).toMatch(
    /codex is not logged in, so mail for first waits .*; log in with: codex login, and if/,
  );
  expect(world.runs).toEqual(['codex']);

  const running = host.start();
  await running.saw('parked', ({ reason }) => reason === 'not_logged_in');
  world.works('codex');
  mkdirSync(join(world.home, '.codex'));
  writeFileSync(join(world.home, '.codex', 'auth.json'), '{"a":"login"}');
  expect((await host.run('replies', '--wait', question)).out).toContain('  codex answers');
  expect(await letters(host)).toEqual([]);
  expect((await host.run('status')).out).toMatch(/^healthy/);
});

it('a refused retry of a dead letter is no attempt', async () => {
  const world = new Refusing();
  const host = await world.host({
    first: { default: { cli: 'codex exec -', attempts: 2, retry_delay: '50ms' } },
  });
  world.says('codex.1', 'ERROR: the disk is full\n');
  world.says('codex.2', `${LIMIT} or try again in 1 second.\n`);
  const question = await host.send('first', 'hello');
  const running = host.start();
  expect((await host.run('replies', '--wait', question)).out).toContain('  codex answers');
  expect(running.count('dead_letter')).toBe(1);
  expect(running.count('parked')).toBe(1);
  expect(running.count('quarantined')).toBe(0);
  expect(world.runs).toHaveLength(3);
});

it('what succeeded is never taken for a refusal, and other failures stay failures', async () => {
  const world = new Refusing();
  const host = await world.host({
    first: 'claude -p',
    second: 'codex exec -',
    third: 'cat; exit 1',
  });
  const answer = "You've hit your limit · resets 6pm (UTC)";
  world.says('answer', `${answer}\n`);
  world.says('codex', 'ERROR: We’re currently experiencing high demand.\n');
  const question = await host.send('first', 'hello');
  await host.send('second', 'hello');
  await host.send('third', 'hello');
  const log = await host.once();
  expect((await host.run('replies', question)).out).toContain(`  ${answer}`);
  expect(log.filter(({ event }) => event === 'dead_letter')).toHaveLength(2);
  expect(log.filter(({ event }) => event === 'parked')).toEqual([]);
});

it('another account of the same CLI is not held', async () => {
  const world = new Refusing();
  const host = await world.host({ own: 'claude -p', work: 'CLAUDE_CONFIG_DIR=~/work claude -p' });
  world.says('claude-work', 'Not logged in · Please run /login\n');
  await host.send('work', 'hello');
  const log = await host.once();
  expect(log.find(({ event }) => event === 'parked')).toMatchObject({
    actor: 'work',
    cli: 'claude at ~/work',
  });
  const question = await host.send('own', 'hello');
  await host.once();
  const status = async (): Promise<string> => (await host.run('status', '--host', 'front')).out;
  expect(await status()).toContain('claude at ~/work is not logged in, so mail for work waits');
  host.declare({ own: 'claude -p' });
  await host.once();
  expect(await status()).not.toContain('is not logged in');
  expect((await host.run('replies', question)).out).toContain('  claude answers');
});

it('a dead letter says what the CLI printed last, on stdout where it says nothing on stderr', async () => {
  const host = await new Bus().host('front', {
    first: 'cat > /dev/null; echo "no such model"; exit 3',
  });
  await host.send('first', 'hello');
  await host.once();
  expect(await letters(host)).toMatchObject([{ detail: 'exit code 3: no such model' }]);
});
