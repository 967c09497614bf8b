import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { command, type Ran, type RunOptions } from '../support/command.ts';
import { git } from '../support/git.ts';

interface Given {
  /** The `user.name` of git on that machine. */
  person?: string;
  login?: string;
  /** What is answered on the terminal; without it there is none. */
  answers?: readonly string[];
}

/** A machine on which nobody has been on a bus yet. */
class Newcomer {
  readonly bus = new Bus();
  readonly dir = join(this.bus.root, 'team');
  readonly asked: string[] = [];
  readonly #options: RunOptions;
  readonly #join: readonly string[];

  constructor({ person, login, answers }: Given) {
    const config = join(this.bus.root, 'gitconfig');
    writeFileSync(config, person === undefined ? '' : `[user]\n\tname = ${person}\n`);
    const left = [...(answers ?? [])];
    this.#options = {
      cwd: this.bus.root,
      env: {
        GIT_CONFIG_GLOBAL: config,
        CROSSTALK_STATE_DIR: join(this.bus.root, 'state'),
        CI: '',
        // Plain lines, which a test can answer without a terminal.
        TERM: 'dumb',
      },
      outIsTty: answers !== undefined,
      ...(login !== undefined && { login }),
      ...(answers !== undefined && {
        ask: (question) => {
          if (question.startsWith('Ask concierge something now?')) return Promise.resolve('3');
          this.asked.push(question);
          return Promise.resolve(left.shift() ?? '');
        },
      }),
    };
    this.#join = ['init', this.dir, '--remote', this.bus.hub, '--alias', 'laptop'];
  }

  init(...more: string[]): Promise<Ran> {
    const given = ['--cli', 'true', '--workdir', this.bus.root, '--no-service'];
    return command([...this.#join, ...given, ...more], { ...this.#options });
  }

  /** Under which name a message is sent that gives none. */
  async writes(): Promise<string> {
    const argv = ['send', '--to', 'concierge', 'hello', '--json'];
    const sent = await command(argv, { ...this.#options, cwd: this.dir });
    return (JSON.parse(sent.out) as { from: string }).from;
  }
}

it('init asks on a terminal for a name, and proposes the one git has', async () => {
  const here = new Newcomer({ person: 'Zoë Müller', login: 'root', answers: [''] });
  const made = await here.init();
  expect([made.code, made.err]).toEqual([0, '\n']);
  expect(here.asked).toEqual(['Your name in messages, or just Enter for zoe-muller: ']);
  expect(made.out).toContain('You write as: zoe-muller\n');
  expect(await here.writes()).toBe('zoe-muller');
  const [author] = git(here.bus.hub, 'log', '-1', '--format=%an', 'main').split('\n');
  expect(author).toBe('zoe-muller');
});

it(
  'init takes another name than it proposes, and none that cannot be one',
  { tags: 'long' },
  async () => {
    const here = new Newcomer({ login: 'anna', answers: ['a b', 'all', 'concierge', 'bea'] });
    const { code, err } = await here.init();
    expect(code).toBe(0);
    expect(here.asked).toEqual(
      Array.from({ length: 4 }, () => 'Your name in messages, or just Enter for anna: '),
    );
    expect(err).toMatch(
      /"a b" is not a name .*\n.*all means everybody.*\n.*concierge is the name of the actor.*\n\n$/,
    );
    expect(await here.writes()).toBe('bea');
  },
);

it('init warns of a login that many people have, and of no other', { tags: 'long' }, async () => {
  const root = new Newcomer({ person: 'Anna', login: 'root' });
  const warned = await root.init();
  expect(warned.code).toBe(0);
  expect(warned.err).toContain(
    'you write as root here, and so does everybody else who is logged in as root anywhere; say who you are with: git config crosstalk.from anna\n',
  );
  expect(await root.writes()).toBe('root');
  const anna = new Newcomer({ person: 'Someone Else', login: 'anna' });
  expect((await anna.init()).err).toBe('');
  expect(await anna.writes()).toBe('anna');
  const all = new Newcomer({ person: 'All', login: 'root' });
  expect((await all.init()).err).toContain('git config crosstalk.from <your name>');
  const kept = new Newcomer({ login: 'root', answers: [''] });
  expect((await kept.init()).err).toContain('everybody who goes by root shares one mailbox');
});

it('init --from says who writes in the clone, without a question', async () => {
  const here = new Newcomer({ login: 'root', answers: [] });
  const { code, err } = await here.init('--from', 'anna');
  expect([code, err, here.asked]).toEqual([0, '', []]);
  expect(await here.writes()).toBe('anna');
  const wrong = await new Newcomer({}).init('--from', 'concierge');
  expect([wrong.code, wrong.err]).toEqual([
    2,
    expect.stringContaining('--from concierge is the name of the actor'),
  ]);
});
