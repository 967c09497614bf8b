import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../support/bus.ts';
import { exec, put, standIn } from '../support/service.ts';
import { git } from '../support/git.ts';
import { OnTerminal } from '../support/pty.ts';

const ENTER = '\r';
const DOWN = '\x1b[B';
const CTRL_C = '\x03';
const NAME = 'Your name in messages';
const AGENT = 'Which agent CLI answers as concierge?';
const PLACE = 'Where does concierge work?';
const ASK = 'Ask concierge something now?';

/** A machine of somebody who has never been on a bus, with a project in which they stand. */
class Newcomer {
  readonly root = scratch();
  readonly app = join(this.root, 'app');
  readonly team = join(this.root, 'team');
  readonly bin = join(this.root, 'bin');
  readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    for (const folder of [this.app, this.bin]) mkdirSync(folder);
    git(this.app, 'init', '--quiet');
    git(this.app, 'commit', '--quiet', '--allow-empty', '--message', 'some code');
    const config = join(this.root, 'gitconfig');
    writeFileSync(config, '[user]\n\tname = Zoe M\n');
    for (const name of ['git', 'node', 'sh', 'cat', 'sleep', 'env', 'tar', 'cp', 'ssh-keygen'])
      for (const folder of (process.env['PATH'] ?? '').split(':'))
        if (existsSync(join(folder, name)) && !existsSync(join(this.bin, name)))
          symlinkSync(join(folder, name), join(this.bin, name));
    this.env = {
      HOME: this.root,
      PATH: this.bin,
      GIT_CONFIG_GLOBAL: config,
      CROSSTALK_STATE_DIR: join(this.root, 'state'),
      CI: '',
      NO_COLOR: '1',
      ...env,
    };
  }

  /** Installs an agent CLI that says something to whatever it is asked. */
  installs(name: string, says: string): this {
    put(this.bin, name, `cat > /dev/null; echo "${says}"`);
    return this;
  }

  async init(
    { cols = 80, env = {} }: { cols?: number; env?: NodeJS.ProcessEnv },
    ...more: string[]
  ): Promise<Talk> {
    const at = { dir: this.app, env: { ...this.env, ...env }, cols };
    return new Talk(await OnTerminal.start(at, 'init', this.team, '--alias', 'box', ...more));
  }

  host(): string {
    return readFileSync(join(this.team, 'hosts/box.md'), 'utf8');
  }

  /** What is left where a conversation was broken off. */
  left(): string[] {
    return readdirSync(this.root).filter((name) => !['app', 'bin', 'gitconfig'].includes(name));
  }
}

/** A conversation on a terminal, in which each answer follows on its question. */
class Talk {
  readonly terminal: OnTerminal;
  #keys = 0;

  constructor(terminal: OnTerminal) {
    this.terminal = terminal;
  }

  async answer(question: string, ...keys: string[]): Promise<void> {
    await this.terminal.wrote(question);
    // Each key is read alone, as from somebody who types it.
    for (const key of keys) {
      const before = this.terminal.output.length;
      this.terminal.pty.write(Buffer.from(key));
      this.#keys += 1;
      await expect.poll(() => this.terminal.output.length, { timeout: 120_000 }).not.toBe(before);
    }
  }

  get keys(): number {
    return this.#keys;
  }
}

it('the first conversation: Enter for all, and an answer', async () => {
  const here = new Newcomer().installs('claude', 'it is Tuesday');
  const talk = await here.init({}, '--no-sandbox', '--no-service');
  for (const question of [NAME, AGENT, PLACE, ASK]) await talk.answer(question, ENTER);
  expect(await talk.terminal.ended).toBe(0);
  const { text } = talk.terminal;
  // Whoever chooses it hears how to log in.
  expect(text).toContain('claude, no login found; log in with: claude /login');
  expect(text).toContain('it is Tuesday');
  expect(text).not.toContain('no dispatcher runs');
  expect(text.trimEnd().split('\r\n').at(-1)).toBe(`Transport: ${here.team}`);
  expect(here.host()).toContain(`worktree: ${here.app}`);
  expect(git(here.team, 'config', 'crosstalk.from').trim()).toBe('zoe-m');
  expect(talk.keys).toBe(4);
  // The dispatcher of the first question is gone.
  const status = await exec(
    [process.execPath, 'bin/crosstalk.js', 'status', '--json', '--transport', here.team],
    { ...process.env, ...here.env },
    process.cwd(),
  );
  expect((JSON.parse(status.out) as { dispatcher: unknown }).dispatcher).toBeNull();
});

it('each question answered otherwise, with a command line, a folder and no question', async () => {
  const here = new Newcomer().installs('mine', 'yes');
  mkdirSync(join(here.root, 'notes'));
  const talk = await here.init({}, '--no-service');
  await talk.answer(NAME, 'a b', ENTER);
  await talk.answer('"a b" is not a name', 'all', ENTER);
  await talk.answer('all means everybody', 'anna', ENTER);
  await talk.answer('no agent CLI that is known was found on the PATH');
  await talk.answer(AGENT, ...Array.from({ length: 6 }, () => DOWN), ENTER);
  await talk.answer('Its command line', 'mine --print', ENTER);
  await talk.answer(PLACE, DOWN, DOWN, DOWN, ENTER);
  await talk.answer('Which?', '/nowhere', ENTER);
  await talk.answer('"/nowhere" does not exist', '~/notes', ENTER);
  await talk.answer(ASK, DOWN, DOWN, ENTER);
  expect(await talk.terminal.ended).toBe(0);
  expect(here.host()).toContain('cli: mine --print');
  expect(here.host()).toContain('workdir: ~/notes');
  expect(git(here.team, 'config', 'crosstalk.from').trim()).toBe('anna');
  expect(talk.terminal.text).not.toContain('in a sandbox');
});

it('an agent CLI is tried with one word only when that is asked for', async () => {
  const here = new Newcomer().installs('codex', 'ready');
  put(here.bin, 'claude', 'cat > /dev/null; echo "Not logged in - Please run /login"; exit 1');
  const talk = await here.init(
    {},
    '--from',
    'anna',
    '--no-workdir',
    '--no-sandbox',
    '--no-service',
  );
  await talk.answer(AGENT, DOWN, DOWN, DOWN, DOWN, DOWN, DOWN, ENTER);
  await talk.answer('codex, works', ENTER);
  expect(talk.terminal.text).toContain('claude, not logged in');
  await talk.answer(ASK, CTRL_C);
  expect(await talk.terminal.ended).toBe(130);
  expect(talk.terminal.text).toContain(`interrupted; the transport stays: ${here.team}`);
  expect(here.host()).toContain('codex exec');
});

it.each([1, 2, 3])('Ctrl-C at question %i leaves nothing behind, and says so', async (at) => {
  const here = new Newcomer().installs('claude', 'hello');
  const talk = await here.init({}, '--no-sandbox', '--no-service');
  for (const question of [NAME, AGENT, PLACE].slice(0, at - 1)) await talk.answer(question, ENTER);
  await talk.answer([NAME, AGENT, PLACE][at - 1] ?? '', CTRL_C);
  expect(await talk.terminal.ended).toBe(130);
  expect(talk.terminal.text).toContain('crosstalk init: interrupted; nothing was made');
  expect(here.left()).toEqual([]);
});

it('a dumb terminal gets plain questions, and Ctrl-C there leaves nothing behind', async () => {
  const here = new Newcomer().installs('claude', 'hello');
  const env = { TERM: 'dumb' };
  const broken = await here.init({ env }, '--no-sandbox', '--no-service');
  await broken.answer(`${NAME}, or just Enter for zoe-m: `, CTRL_C);
  expect(await broken.terminal.ended).toBe(130);
  expect(broken.terminal.text).toContain('interrupted; nothing was made');
  expect(here.left()).toEqual([]);
  const talk = await here.init({ env }, '--no-sandbox', '--no-service');
  await talk.answer(`${NAME}, or just Enter for zoe-m: `, ENTER);
  await talk.answer('Its number, or just Enter for 1: ', ENTER);
  await talk.answer(PLACE, `2${ENTER}`);
  await talk.answer(ASK, `3${ENTER}`);
  expect(await talk.terminal.ended).toBe(0);
  expect(talk.terminal.text).not.toContain('\x1b');
  expect(here.host()).not.toContain('worktree');
});

it('nothing is asked where CI is set, or every option is given', async () => {
  const here = new Newcomer().installs('claude', 'hello');
  const ci = await here.init({ env: { CI: 'true' } });
  expect(await ci.terminal.ended).toBe(0);
  expect(ci.terminal.text).not.toMatch(/Your name|Which agent|Where does|something now/);
  const other = new Newcomer();
  const options = ['--from', 'anna', '--cli', 'true', '--no-workdir', '--no-sandbox'];
  const given = await other.init({}, ...options, '--no-service');
  expect(await given.terminal.ended).toBe(0);
  expect(given.terminal.text).not.toContain('something now');
});

it('a narrow terminal shows every question whole, without colours', { tags: 'long' }, async () => {
  const here = new Newcomer().installs('claude', 'hello');
  const talk = await here.init({ cols: 40 }, '--no-sandbox', '--no-service');
  for (const question of [NAME, AGENT, PLACE]) await talk.answer(question, ENTER);
  await talk.answer(ASK, DOWN, DOWN, ENTER);
  expect(await talk.terminal.ended).toBe(0);
  // eslint-disable-next-line no-control-regex -- a colour begins with the escape character
  expect(talk.terminal.text).not.toMatch(/\x1b\[(?:3|9)\dm/);
});

it('a service is installed only after a yes, and answers the first question', async () => {
  const world = standIn();
  const { PATH = '', XDG_RUNTIME_DIR, XDG_CONFIG_HOME } = world.env;
  const here = new Newcomer({ XDG_RUNTIME_DIR, XDG_CONFIG_HOME });
  here.installs('claude', 'it is Tuesday');
  const env = { PATH: `${here.bin}:${PATH}` };
  const talk = await here.init(
    { env },
    '--from',
    'anna',
    '--cli',
    'claude',
    '--no-workdir',
    '--no-sandbox',
  );
  await talk.answer('running as a service?', 'y');
  await talk.answer(ASK, ENTER);
  expect(await talk.terminal.ended).toBe(0);
  expect(talk.terminal.text).toContain('it is Tuesday');
  expect(talk.terminal.text).toContain(
    'Its dispatcher runs as a service: crosstalk service status',
  );
  const ct = (...argv: string[]): ReturnType<typeof exec> =>
    exec(
      [process.execPath, 'bin/crosstalk.js', ...argv, '--transport', here.team],
      { ...world.env, ...here.env, ...env },
      process.cwd(),
    );
  expect((await ct('service', 'status')).code).toBe(0);
  expect((await ct('service', 'uninstall')).code).toBe(0);
});

it('init --service says what to do where there is no service manager', async () => {
  const here = new Newcomer().installs('true', '');
  const argv = ['init', here.team, '--alias', 'box', '--cli', 'true', '--service'];
  const bin = join(dirname(process.execPath), 'node');
  const ran = await exec(
    [bin, join(process.cwd(), 'bin/crosstalk.js'), ...argv],
    { ...process.env, ...here.env },
    here.root,
  );
  expect(ran.code).toBe(1);
  expect(ran.err).toContain('the transport is made, but its dispatcher is not a service');
  expect(ran.out).toMatch(/Transport: .*team\n$/);
});
