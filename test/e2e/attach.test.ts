import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { exists } from '../support/process.ts';
import { OnTerminal } from '../support/pty.ts';
import { hasTmux, Pane } from '../support/tmux.ts';
import { until } from '../support/wait.ts';

const terminal = fileURLToPath(new URL('../fixtures/terminal', import.meta.url));
const tui = join(terminal, 'tui.cjs');
const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

/** A line that the full-screen program wrote about itself. */
interface Noted {
  argv?: string[];
  env?: Record<string, string>;
  cwd?: string;
  size?: string;
  hex?: string;
  signal?: string;
  pid?: number;
  continued?: string;
}

interface Seat {
  host: Host;
  env: NodeJS.ProcessEnv;
  noted: () => Noted[];
  /** A shell command that starts a session, and prints how it ended. */
  line: string;
}

async function seat(actors = { worker: 'true' }): Promise<Seat> {
  const bus = new Bus();
  const host = await bus.host('front', actors);
  const log = join(bus.root, 'log');
  return {
    host,
    env: { ...host.env, CROSSTALK_TRANSPORT: host.dir, CROSSTALK_FROM: 'anna', TUI_LOG: log },
    noted: () =>
      existsSync(log)
        ? readFileSync(log, 'utf8')
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line) as Noted)
        : [],
    line: `${process.execPath} ${bin} attach --agent ${tui}; echo "ended with $?"`,
  };
}

function noted(seat: Seat, what: string, is: (one: Noted) => boolean): Promise<Noted> {
  return until(`${what} in ${JSON.stringify(seat.noted().slice(1))}`, () => seat.noted().find(is));
}

describe('between a terminal and an agent CLI', () => {
  it('every byte that is typed arrives as it was typed', async () => {
    const at = await seat();
    const session = await OnTerminal.start(
      { dir: at.host.dir, env: at.env },
      'attach',
      '--agent',
      tui,
    );
    await session.wrote('ready 80x24');
    const typed = Buffer.concat([
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
      Buffer.from('\x1b[A\x1bOP\x1b[200~pasted\r\ntext\x1b[201~\x1b[<0;1;1M\x1b[13;2u'),
      Buffer.from('half a character \xe2\x82', 'latin1'),
      Buffer.from('x'.repeat(20_000)),
    ]);
    session.pty.write(typed);
    const arrived = (): string =>
      at
        .noted()
        .map(({ hex = '' }) => hex)
        .join('');
    await until('all that was typed', () => arrived().length >= 2 * typed.length);
    expect(arrived()).toBe(typed.toString('hex'));
  });

  it('every byte that is written arrives as it was written, and the exit code too', async () => {
    const at = await seat();
    const file = join(at.host.bus.root, 'bytes');
    const written = Buffer.concat([
      Buffer.from('<<<'),
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
      Buffer.from('\x1b[?1049h\n\n\x1b]2;t\x07'.repeat(2000)),
      Buffer.from('>>>'),
    ]);
    writeFileSync(file, written);
    const agent = `stty raw; cat ${file}; exit 7`;
    const session = await OnTerminal.start(
      { dir: at.host.dir, env: at.env },
      'attach',
      '--agent',
      agent,
    );
    expect(await session.ended).toBe(7);
    const from = session.output.indexOf('<<<');
    expect(session.output.subarray(from, from + written.length).equals(written)).toBe(true);
  });

  it('a CLI that a signal ends gives 128 and its number', async () => {
    const at = await seat();
    const session = await OnTerminal.start(
      { dir: at.host.dir, env: at.env },
      'attach',
      '--agent',
      'kill -9 $$',
    );
    expect(await session.ended).toBe(137);
  });

  it('a signal to us is one to the CLI, which ends as it likes', async () => {
    const at = await seat();
    const session = await OnTerminal.start(
      { dir: at.host.dir, env: at.env },
      'attach',
      '--agent',
      tui,
    );
    await session.wrote('ready');
    process.kill(session.pty.pid, 'SIGTERM');
    expect(await session.ended).toBe(31);
    expect(at.noted().at(-1)).toEqual({ signal: 'SIGTERM' });
  });

  it('where the package for it cannot be loaded, the session has the terminal itself, and says so once', async () => {
    const at = await seat();
    const env = { ...at.env, NODE_OPTIONS: `--require ${join(terminal, 'no-pty.cjs')}` };
    const agent = 'test -t 0 && test -t 1 && echo "on the terminal"; exit 3';
    const session = await OnTerminal.start({ dir: at.host.dir, env }, 'attach', '--agent', agent);
    expect(await session.ended).toBe(3);
    expect(session.text).toContain('on the terminal');
    expect(
      session.text.match(/no pseudo-terminal here: your platform is not supported; /g),
    ).toHaveLength(1);
  });
});

describe.skipIf(!hasTmux)('a session on a screen (skipped unless tmux is installed)', () => {
  it('follows the size of the window', async () => {
    const at = await seat();
    const pane = new Pane(at.host.dir, at.env);
    pane.run(at.line);
    await pane.shows('ready 80x24');
    pane.resize(100, 30);
    await pane.shows('size 100x30');
  });

  it(
    'is stopped by the key for that and goes on where it was, in a window that has changed',
    { tags: 'long' },
    async () => {
      const at = await seat();
      const pane = new Pane(at.host.dir, { ...at.env, TUI_KEYS: '1' });
      pane.run(at.line);
      await pane.shows('ready 80x24');
      pane.press('f');
      await pane.has('alternate_on', '1');
      pane.press('z');
      await pane.shows(/Stopped/);
      await pane.has('alternate_on', '0');
      await pane.has('mouse_any_flag', '0');
      pane.run('clear; stty -a | grep -qw -- -icanon || echo "the shell reads lines"');
      await pane.shows(/^the shell reads lines$/m);
      pane.resize(90, 20);
      pane.run('fg');
      await noted(at, 'that it went on', ({ continued }) => continued !== undefined);
      await noted(at, 'its new size', ({ size }) => size === '90x20');
      await pane.has('alternate_on', '1');
      pane.type('words');
      await noted(at, 'what was typed', ({ hex }) => hex === Buffer.from('words').toString('hex'));
      pane.press('z');
      await pane.has('alternate_on', '0');
      pane.run('fg; echo "ended with $?"');
      await until(
        'that it went on again',
        () => at.noted().filter(({ continued }) => continued).length === 2,
      );
      pane.press('q');
      await pane.shows('ended with 0');
    },
  );

  it('leaves a terminal as it was when the CLI is killed in the middle of its screen', async () => {
    const at = await seat();
    const pane = new Pane(at.host.dir, { ...at.env, TUI_KEYS: '1' });
    pane.run(`stty -g > before; ${at.line}; stty -g > after`);
    await pane.shows('ready');
    pane.press('f');
    await pane.has('mouse_any_flag', '1');
    pane.press('k');
    await pane.shows('ended with 137');
    for (const [name, value] of Object.entries({
      alternate_on: '0',
      mouse_any_flag: '0',
      cursor_flag: '1',
    }))
      await pane.has(name, value);
    const settings = (name: string): string => {
      const file = join(at.host.dir, name);
      return existsSync(file) ? readFileSync(file, 'utf8') : '';
    };
    await until('the settings', () => settings('after').endsWith('\n'));
    expect(settings('after')).toBe(settings('before'));
  });

  it(
    'nothing outlives a terminal that goes away, not even a CLI that heeds no signal',
    { tags: 'long' },
    async () => {
      const at = await seat();
      const pane = new Pane(at.host.dir, { ...at.env, TUI_STUBBORN: '1' });
      pane.run(`sh -c 'echo $$ > pid; exec ${process.execPath} ${bin} attach --agent ${tui}'`);
      await pane.shows('ready');
      const session = Number(readFileSync(join(at.host.dir, 'pid'), 'utf8'));
      const cli = at.noted()[0]?.pid ?? 0;
      expect(await Promise.all([exists(session), exists(cli)])).toEqual([true, true]);
      pane.close();
      await noted(at, 'the signal', ({ signal }) => signal === 'SIGHUP');
      await until('the end of the CLI', async () => !(await exists(cli)));
      await until('the end of the session', async () => !(await exists(session)));
    },
  );

  it(
    'announces an answer by title and bell, and what is being typed stays as it is',
    { tags: 'long' },
    async () => {
      const at = await seat();
      const pane = new Pane(at.host.dir, { ...at.env, TUI_KEYS: '1' });
      pane.run(at.line);
      await pane.shows('ready');
      const before = pane.value('pane_title');
      pane.type('half a li');
      const screen = await pane.shows('> half a li');
      await at.host.send('anna', 'it is done', '--from', 'worker');
      await pane.has('pane_title', 'new from worker');
      await pane.has('window_bell_flag', '1');
      expect(pane.screen()).toBe(screen);
      pane.type('ne');
      await pane.shows('> half a line');
      expect(pane.value('pane_title')).toBe('new from worker');
      pane.press('Enter');
      await pane.has('pane_title', before);

      pane.press('t');
      await pane.has('pane_title', 'its own title');
      await at.host.send('anna', 'and this', '--from', 'tester');
      await pane.has('pane_title', 'new from tester | its own title');
      pane.press('Enter');
      await pane.has('pane_title', 'its own title');
      expect(
        Buffer.from(
          at
            .noted()
            .map(({ hex = '' }) => hex)
            .join(''),
          'hex',
        ).toString(),
      ).toBe('half a line\rt\r');
    },
  );

  it(
    'announces nothing in the middle of a control sequence of the CLI',
    { tags: 'long' },
    async () => {
      const at = await seat();
      const pane = new Pane(at.host.dir, { ...at.env, TUI_KEYS: '1', CROSSTALK_NOTIFY: 'bell' });
      pane.run(at.line);
      await pane.shows('ready');
      pane.press('h');
      await pane.shows('> half');
      await at.host.send('anna', 'x', '--from', 'worker');
      // It rings together with the rest of the sequence, which a bell in between would have ended.
      pane.press('H');
      await pane.has('pane_title', 'a title in two parts');
      await pane.shows('> half  whole');
      await pane.has('window_bell_flag', '1');
    },
  );

  it('of an actor announces what arrives for that actor', { tags: 'long' }, async () => {
    const at = await seat({ worker: tui });
    const pane = new Pane(at.host.dir, at.env);
    pane.run(`${process.execPath} ${bin} open --host front --actor worker`);
    await pane.shows('ready');
    expect(at.noted()[0]?.env?.['CROSSTALK_FROM']).toBe('worker');
    await at.host.send('worker', 'a task', '--from', 'boss');
    await pane.has('pane_title', 'new from boss');
  });
});
