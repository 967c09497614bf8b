import { existsSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Bus, Host, type Event, type Held } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { OnTerminal } from '../support/pty.ts';
import { standIn } from '../support/service.ts';
import { until } from '../support/wait.ts';

/** A host file for this very machine, which somebody has pushed under a name of their choice. */
function planted(actors: Record<string, unknown>): Record<string, string> {
  const fields = { alias: 'laptop', hostname: hostname(), actors };
  return { 'hosts/laptop.md': `---\n${stringify(fields, { lineWidth: 0 })}---\n` };
}

/** A machine made by `git clone`, for which somebody has planted a host file, and what its command leaves. */
async function cloned(
  options: Record<string, unknown> = {},
): Promise<{ host: Host; marks: string; touch: (name: string) => string }> {
  const bus = new Bus();
  const tower = await bus.host('tower', {});
  const marks = join(bus.root, 'mark');
  const touch = (name: string): string => `touch ${marks}-${name}; echo ${name}`;
  tower.edit(planted({ worker: { default: { cli: touch('evil'), ...options } } }));
  const host = new Host(bus, 'laptop');
  git(bus.root, 'clone', '--quiet', bus.hub, host.dir);
  return { host, marks, touch };
}

const QUESTION = '[y/N]';

/** A dispatcher of the machine on a terminal, at its question. */
async function asked(host: Host, ...argv: string[]): Promise<OnTerminal> {
  const terminal = await OnTerminal.start(host, ...argv);
  await terminal.wrote(QUESTION);
  return terminal;
}

function type({ pty }: OnTerminal, text: string): void {
  pty.write(Buffer.from(text));
}

/** One pass without a terminal and without naming the host; its log. */
async function pass(host: Host, ...options: string[]): Promise<Event[]> {
  const { err } = await host.run('dispatch', '--once', ...options);
  return err
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Event);
}

async function held(host: Host): Promise<Held[]> {
  return (
    JSON.parse((await host.run('host', 'show', '--json')).out) as { held: Held[] }
  ).held.filter(({ kind }) => kind !== 'setting');
}

const ran = (marks: string, name = 'evil'): boolean => existsSync(`${marks}-${name}`);

describe('without a terminal', () => {
  it('a host file that somebody planted is held on a machine that was made by git clone', async () => {
    const { host, marks } = await cloned();
    const question = await host.send('worker', 'hello');
    const log = await pass(host);
    const [change] = await held(host);
    const next = `crosstalk host approve ${change!.digest}`;
    expect(log.find(({ event }) => event === 'host_change_held')).toMatchObject({
      name: 'worker.default',
      next,
    });
    expect((await host.run('status')).out).toContain(next);
    expect((await host.run('doctor')).out).toContain(next);
    expect((await host.run('replies', question)).out).toMatch(/^PENDING /);
    await pass(host);
    expect(ran(marks)).toBe(false);
    expect((await host.run('host', 'approve', change!.digest)).code).toBe(0);
    await pass(host);
    expect((await host.run('replies', question)).out).toContain('  evil');
  });

  it('neither open nor a sandbox of it runs anything', async () => {
    const { host, marks } = await cloned({ sandbox: 'default' });
    const opened = await host.run('open', '--actor', 'worker');
    expect([opened.code, opened.err]).toEqual([1, expect.stringContaining('not approved')]);
    const sandboxed = await host.run('sandbox', 'run', '--actor', 'worker', '--', 'true');
    expect([sandboxed.code, sandboxed.err]).toEqual([1, expect.stringContaining('host show')]);
    expect(ran(marks)).toBe(false);
  });

  it(
    'an actor of one’s own on such a machine approves that actor alone',
    { tags: 'long' },
    async () => {
      const { host, marks } = await cloned();
      const changed = await host.run('actor', 'set', 'worker', 'count=2');
      expect([changed.code, changed.err]).toEqual([1, expect.stringContaining('is held')]);
      expect((await host.run('actor', 'add', 'mine', '--cli', 'echo my own')).code).toBe(0);
      const questions = [await host.send('mine', 'hello'), await host.send('worker', 'hello')];
      await pass(host);
      const answers = await Promise.all(questions.map((one) => host.run('replies', one)));
      expect(answers[0]?.out).toContain('  my own');
      expect(answers[1]?.out).toMatch(/^PENDING /);
      expect((await held(host)).map(({ name }) => name)).toEqual(['worker.default']);
      expect(ran(marks)).toBe(false);
    },
  );

  it(
    'init takes over nothing that stood under its alias or its hostname before',
    { tags: 'long' },
    async () => {
      const { host: before, marks } = await cloned();
      const { bus } = before;
      const host = new Host(bus, 'second');
      const init = (...alias: string[]): ReturnType<Host['run']> =>
        host.run('init', host.dir, '--remote', bus.hub, '--cli', 'echo my own', ...alias);
      const taken = await init('--alias', 'laptop');
      expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('is taken')]);
      expect((await init()).code).toBe(0);
      await host.send('worker', 'hello');
      const question = await host.send('concierge', 'hello');
      await pass(host);
      expect((await host.run('replies', question)).out).toContain('  my own');
      await pass(host, '--host', 'laptop');
      expect(ran(marks)).toBe(false);
    },
  );

  it('a script may trust the host file as it stands', async () => {
    const { host } = await cloned();
    const question = await host.send('worker', 'hello');
    await pass(host, '--trust-host-file');
    expect((await host.run('replies', question)).out).toContain('  evil');
  });
});

describe('on a terminal', () => {
  it(
    'a first start asks before it runs anything, and runs nothing without a yes',
    { tags: 'long' },
    async () => {
      const { host, marks } = await cloned();
      await host.send('worker', 'hello');
      const no = await asked(host, 'dispatch');
      const [change] = await held(host);
      expect(no.text).toContain('hosts/laptop.md would run on this machine, and nobody here has');
      expect(no.text).toContain(change!.digest);
      type(no, '\r');
      expect(await no.ended).toBe(1);
      expect(ran(marks)).toBe(false);
      const yes = await asked(host, 'dispatch');
      type(yes, 'y\r');
      await until('the run', () => ran(marks));
      type(yes, '\x03');
      await yes.ended;
      // It is asked once.
      const again = await OnTerminal.start(host, 'dispatch', '--once');
      expect([await again.ended, again.text]).toEqual([0, expect.not.stringContaining(QUESTION)]);
    },
  );

  it('open asks as well', async () => {
    const { host, marks } = await cloned();
    const no = await asked(host, 'open', '--actor', 'worker');
    type(no, 'n\r');
    expect(await no.ended).toBe(1);
    expect(ran(marks)).toBe(false);
    const yes = await asked(host, 'open', '--actor', 'worker');
    type(yes, 'y\r');
    expect([await yes.ended, ran(marks)]).toEqual([0, true]);
  });

  it(
    'service install asks as well, and warns where there is nobody to ask',
    { tags: 'long' },
    async () => {
      const { host } = await cloned();
      const env = { ...standIn().env, ...host.env };
      const install = ['service', 'install', '--yes', '--no-start'];
      const terminal = await asked(
        Object.assign(new Host(host.bus, 'laptop'), { env }),
        ...install,
      );
      terminal.pty.write(Buffer.from('n\r'));
      expect(await terminal.ended).toBe(1);
      expect(existsSync(join(host.state, 'service.env'))).toBe(false);
      const unasked = await host.runWith({ env }, ...install);
      expect([unasked.code, unasked.err]).toEqual([
        0,
        expect.stringContaining('nothing that the host file of laptop runs is approved here'),
      ]);
      expect(await held(host)).toHaveLength(1);
    },
  );

  it('shows all that would run, and no character of it controls the terminal', async () => {
    const { host, touch } = await cloned();
    const hidden = `echo \u202e\u001b[8m${touch('evil')}`;
    host.edit({
      ...planted({
        worker: { default: { cli: hidden, count: 7 }, other: 'echo other' },
      }),
      'local/actors/worker.md': `---\nname: worker\nmcps:\n  - name: vault\n    command: ${join(host.bus.root, 'vault')}\n---\n`,
    });
    const terminal = await asked(host, 'dispatch');
    expect(terminal.text).toContain('worker default: "echo \\u202e\\u001b[8mtouch ');
    expect(terminal.text).toContain('count: 7');
    expect(terminal.text).toContain('worker other: "echo other"');
    expect(terminal.text).toContain('mcps.vault: {"command":"');
    for (const raw of ['\u001b[8m', '\u00e2\u0080\u00ae']) expect(terminal.text).not.toContain(raw);
    type(terminal, 'y\r');
    await terminal.wrote('serving');
    type(terminal, '\x03');
    await terminal.ended;
    expect(await held(host)).toEqual([]);
  });

  it.each([
    ['arrives', false],
    ['arrives and is fetched by another process', true],
  ])(
    'what %s while the question is open is not approved by its answer',
    { tags: 'long' },
    async (_, isFetched) => {
      const { host, marks, touch } = await cloned();
      await host.send('worker', 'hello');
      const terminal = await asked(host, 'dispatch', '--once');
      host.edit(planted({ worker: { default: touch('later') } }));
      if (isFetched) await host.news();
      type(terminal, 'y\r');
      expect(await terminal.ended).toBe(isFetched ? 1 : 0);
      await pass(host);
      expect(ran(marks, 'later')).toBe(false);
      expect(ran(marks)).toBe(!isFetched);
      expect(await held(host)).toMatchObject([{ proposed: touch('later') }]);
    },
  );

  it('a machine whose state was lost is asked again', async () => {
    const { host, marks } = await cloned();
    await pass(host, '--trust-host-file');
    rmSync(host.state, { recursive: true });
    const terminal = await asked(host, 'dispatch');
    type(terminal, 'n\r');
    expect([await terminal.ended, ran(marks)]).toEqual([1, false]);
  });

  it('who made the machine with init is asked nothing', async () => {
    const bus = new Bus();
    const host = new Host(bus, 'front');
    await host.run('init', host.dir, '--remote', bus.hub, '--cli', 'echo my own');
    const question = await host.send('concierge', 'hello');
    const terminal = await OnTerminal.start(host, 'dispatch', '--once');
    expect([await terminal.ended, terminal.text]).toEqual([
      0,
      expect.not.stringContaining(QUESTION),
    ]);
    expect((await host.run('replies', question)).out).toContain('  my own');
  });
});
