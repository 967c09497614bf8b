import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { Bus, scratch } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { Program } from '../support/process.ts';
import { Persuaded } from '../support/run-commands.ts';

const NOT_FOR_A_RUN = expect.stringMatching(/^crosstalk [\w ]+: .*not for a run, .+\n$/s) as string;

/** The commands that trust.md §3 lists, as far as they exist. */
const ALLOWED = [
  'send',
  'replies',
  'reply',
  'log',
  'read',
  'thread',
  'search',
  'status',
  'explain',
  'channel',
  'channel create',
  'channel list',
  'actor list',
  'actor show',
  'memory add',
  'memory alias',
  'memory forget',
  'memory list',
  'memory log',
  'memory restore',
  'memory search',
  'memory show',
  'skill list',
  'skill show',
  'dlq',
  'guide',
];

/** Lets an actor give commands in a run, and returns their results. */
async function inRun(
  commands: (bus: Bus) => readonly string[],
  env: Record<string, string> = {},
): Promise<{ bus: Bus; worker: Persuaded; host: Awaited<ReturnType<Bus['host']>> }> {
  const bus = new Bus();
  const worker = new Persuaded(bus, ...commands(bus));
  const host = await bus.host('laptop', { worker: worker.cli, other: 'cat >/dev/null; echo no' });
  await host.send('worker', 'go on');
  await host.runWith({ env }, 'dispatch', '--once', '--host', 'laptop');
  return { bus, worker, host };
}

test('the commands a run has are those of trust.md and no other', () => {
  const has = COMMANDS.filter(({ inRun: given }) => given !== undefined).map(({ name }) => name);
  // Its agent CLI starts the server that it asks for permission; that can only ask (docs/decisions/15-gates.md).
  expect(has.sort()).toEqual([...ALLOWED, '__permission'].sort());
});

test(
  'in a run every command of the table answers, or says that it is not for a run',
  { tags: 'long' },
  async () => {
    const refused = COMMANDS.filter(({ inRun: given }) => given === undefined);
    const { worker } = await inRun(() => refused.map(({ name }) => `crosstalk ${name}`));
    expect(worker.given.map(({ code, out, err }) => ({ code, out, err }))).toEqual(
      refused.map(() => ({ code: 2, out: '', err: NOT_FOR_A_RUN })),
    );
  },
);

test(
  'a run cannot have a program started, a file changed or a decision made by crosstalk',
  { tags: 'long' },
  async () => {
    const { bus, worker, host } = await inRun(({ root }) => [
      `crosstalk attach --agent "touch ${root}/attached"`,
      `crosstalk open --actor other`,
      `crosstalk host approve`,
      `crosstalk actor add evil --cli "touch ${root}/evil"`,
      `crosstalk init ${root}/made --cli true`,
      `crosstalk memory export ${root}/exported`,
      `crosstalk dlq --retry all`,
      `crosstalk dlq --clear --yes`,
      `crosstalk replies --wait 00000000`,
      `crosstalk log --follow`,
      `ct attach --agent "touch ${root}/attached"`,
    ]);
    expect(worker.given.map(({ code, err }) => ({ code, err }))).toEqual(
      worker.given.map(() => ({ code: 2, err: NOT_FOR_A_RUN })),
    );
    expect(worker.given[8]?.err).toContain('a run that waits for mail to itself waits for ever');
    for (const name of ['attached', 'evil', 'made', 'exported'])
      expect(existsSync(join(bus.root, name))).toBe(false);
    expect((await host.run('actor', 'list')).out).not.toContain('evil');
  },
);

test(
  'no variable undoes agent mode, and no second word on the command line does',
  { tags: 'long' },
  async () => {
    const { bus, worker } = await inRun(({ root }) => {
      const attach = `attach --agent "touch ${root}/attached"`;
      writeFileSync(
        join(root, 'evil.cjs'),
        `require('node:fs').writeFileSync(${JSON.stringify(join(root, 'loaded'))}, '');`,
      );
      return [
        `env -u CROSSTALK_RUN_DIR crosstalk ${attach}`,
        `CROSSTALK_RUN_DIR= crosstalk ${attach}`,
        `CROSSTALK_RUN_DIR=/tmp crosstalk ${attach}`,
        `env -i PATH="$PATH" HOME="$HOME" crosstalk ${attach}`,
        `NODE_OPTIONS="--require ${root}/evil.cjs" crosstalk ${attach}`,
        `CROSSTALK_TRANSPORT=/tmp CROSSTALK_STATE_DIR=/tmp crosstalk ${attach}`,
        `crosstalk --agent-mode /tmp /tmp '' '' ${attach}`,
        `crosstalk -- ${attach}`,
        // Found in another way than through the PATH.
        `'${process.execPath}' '${process.cwd()}/bin/crosstalk.js' ${attach}`,
      ];
    });
    expect(worker.given.map(({ code }) => code)).toEqual(worker.given.map(() => 2));
    for (const name of ['attached', 'loaded']) expect(existsSync(join(bus.root, name))).toBe(false);
  },
);

test(
  'a run writes as its actor and in its transport, whatever it says',
  { tags: 'long' },
  async () => {
    const elsewhere = new Bus();
    const there = await elsewhere.host('there', {});
    const { bus, worker } = await inRun(() => [
      `crosstalk send --to other --new --from operator "by option"`,
      `crosstalk memory add --from operator --subject s "by option"`,
      `crosstalk channel create by-option --from operator`,
      `CROSSTALK_DISPATCH_ACTOR=operator crosstalk send --to other --new "by variable"`,
      `CROSSTALK_FROM=operator crosstalk send --to other --new "by another variable"`,
      `env -i PATH="$PATH" HOME="$HOME" CROSSTALK_FROM=operator crosstalk send --to other "without a run"`,
      `crosstalk send --transport '${there.dir}' --to other "elsewhere"`,
      `crosstalk log --transport '${there.dir}'`,
      `CROSSTALK_TRANSPORT='${there.dir}' crosstalk send --to other --new "by yet another"`,
    ]);
    expect(worker.given.map(({ code }) => code)).toEqual([2, 2, 2, 2, 0, 2, 2, 2, 0]);
    const said = bus.messages().map(({ message }) => [message.from, message.body.trim()]);
    expect(said).toContainEqual(['worker', 'by another variable']);
    expect(said).toContainEqual(['worker', 'by yet another']);
    expect(said.filter(([from]) => from === 'operator')).toEqual([['operator', 'go on']]);
    expect(elsewhere.messages()).toEqual([]);
  },
);

test(
  'a run sends files of its own folders alone, wherever symlinks and variables lead',
  { tags: 'long' },
  async () => {
    const outside = scratch();
    writeFileSync(join(outside, 'secret'), 'the secret');
    const { bus, worker } = await inRun(({ root }) => [
      'crosstalk send --to other --new --file /etc/passwd',
      `ln -s ${outside}/secret link && crosstalk send --to other --new --file link`,
      `ln -s ${outside} folder && crosstalk send --to other --new --file folder/secret`,
      `cd ${outside} && crosstalk send --to other --new --file secret`,
      `CROSSTALK_WORKDIR=${outside} crosstalk send --to other --new --file ${outside}/secret`,
      'mkfifo pipe && crosstalk send --to other --new --file pipe',
      'crosstalk send --to other --new --file /dev/zero',
      `crosstalk send --to other --new --file ${root}/laptop/.git/config`,
      `crosstalk memory add --subject s --file ${outside}/secret`,
      'echo "my own" > notes && crosstalk send --to other --new --file notes',
      `crosstalk send --to other --new --file ${root}/laptop/upstream/PROTOCOL.md`,
      'crosstalk send --to other --new --file "$CROSSTALK_RUN_DIR"/batch/1-*.md',
    ]);
    expect(worker.given.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0]);
    const bodies = bus.from('worker').map(({ message }) => message.body.trim());
    expect(bodies.join('\n')).not.toContain('the secret');
    expect(bodies).toContain('my own');
    expect(bodies.some((body) => body.includes('go on'))).toBe(true);
  },
);

test('a run is told neither the state directory nor a secret of the dispatcher', async () => {
  const { worker, host } = await inRun(() => ['env', 'ls -a "$CROSSTALK_RUN_DIR"', 'pwd'], {
    CROSSTALK_WEB_TOKEN: 'the token of the page',
    CROSSTALK_FROM: 'operator',
  });
  const [env, files, cwd] = worker.given.map(({ out }) => out);
  const ours = (env ?? '').split('\n').filter((line) => line.startsWith('CROSSTALK_'));
  expect(ours.map((line) => line.split('=')[0]).sort()).toEqual([
    'CROSSTALK_DISPATCH_ACTOR',
    'CROSSTALK_DISPATCH_CHANNEL',
    'CROSSTALK_DISPATCH_HOST',
    'CROSSTALK_DISPATCH_ID',
    'CROSSTALK_DISPATCH_RE',
    'CROSSTALK_DISPATCH_TIP',
    'CROSSTALK_RUN_DIR',
    'CROSSTALK_TRANSPORT',
    'CROSSTALK_WORKDIR',
  ]);
  expect(env).not.toContain('the token of the page');
  expect(files?.trim().split('\n')).toEqual(['.', '..', 'batch', 'drop', 's']);
  expect(ours).toContain(`CROSSTALK_WORKDIR=${cwd?.trim() ?? ''}`);
  expect(worker.prompt).toContain(`Your working directory is ${cwd?.trim() ?? ''}`);
  expect(existsSync(join(host.state, 'run'))).toBe(true);
});

test('a session as an actor has the commands of a run, and that actor alone', async () => {
  const bus = new Bus();
  const script = join(bus.root, 'session');
  writeFileSync(
    script,
    `#!/bin/sh
crosstalk attach --agent "touch ${bus.root}/attached"; echo "attach: $?"
crosstalk send --to other --from operator "no"; echo "from: $?"
crosstalk send --to other "yes"; echo "send: $?"
pwd; env | grep ^CROSSTALK_STATE; echo "added: $1"
`,
  );
  chmodSync(script, 0o755);
  const host = await bus.host('laptop', {
    worker: `${script} "$CROSSTALK_RUN_DIR"`,
    other: 'true',
  });
  const session = new Program(host, 'open', '--actor', 'worker', '--host', 'laptop');
  await session.ended();
  expect(session.out).toContain('attach: 2');
  expect(session.out).toContain('from: 2');
  expect(session.out).toContain('send: 0');
  expect(session.out).toContain(join(host.state, 'work', 'worker', 'session'));
  expect(session.out).not.toContain('CROSSTALK_STATE');
  // The folder that a command for runs names is not one of the state directory's own.
  expect(session.out).toContain(`added: ${join(host.state, 'work', 'worker', 'session')}\n`);
  expect(existsSync(join(bus.root, 'attached'))).toBe(false);
  expect(bus.messages().map(({ message }) => message.from)).toEqual(['worker']);
});

test('the operator’s own session has the whole program, and starts where the operator stands', async () => {
  const bus = new Bus();
  const here = join(bus.root, 'here');
  mkdirSync(here);
  const script = join(bus.root, 'session');
  writeFileSync(script, '#!/bin/sh\npwd; crosstalk host show; echo "host: $?"\n');
  chmodSync(script, 0o755);
  const host = await bus.host('laptop', {});
  const session = new Program(
    { env: host.env, dir: here },
    ...['attach', '--transport', host.dir, '--agent', script],
  );
  await session.ended();
  expect(session.out).toContain('host: ');
  expect(session.err).not.toContain('not for a run');
  expect(session.out).toContain(`${here}\n`);
});

test('CROSSTALK_RUN_DIR alone makes the program smaller', async () => {
  const bus = new Bus();
  const host = await bus.host('laptop', {});
  const ran = await command(['host', 'approve'], {
    cwd: host.dir,
    env: { ...host.env, CROSSTALK_RUN_DIR: '/nowhere' },
  });
  expect(ran).toMatchObject({ code: 2, err: NOT_FOR_A_RUN });
});
