import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileOptions } from '../../src/cli/run.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { Bus, scratch, type Host } from '../support/bus.ts';
import { command } from '../support/command.ts';
import { Program } from '../support/process.ts';
import { Persuaded } from '../support/run-commands.ts';

/** What a pusher would have a shell or an agent CLI read. */
const BYTES = 'touch /tmp/owned\n';
const REFUSED =
  /^crosstalk read: --files .* is not for a run: .*; a run may put files below its working directory or CROSSTALK_RUN_DIR\n$/;

interface World {
  bus: Bus;
  host: Host;
  /** The message that brings the file along. */
  ref: string;
  /** A folder of the operator's. */
  outside: string;
}

async function world(): Promise<World> {
  const bus = new Bus();
  const host = await bus.host('laptop', { other: 'cat >/dev/null; echo no' });
  const file = join(bus.root, 'login.sh');
  writeFileSync(file, BYTES);
  const ref = await host.send('nobody', 'take this', '--attach', file);
  return { bus, host, ref, outside: scratch() };
}

/** Lets an actor with the right to call crosstalk give commands. */
async function inRun(
  { bus, host }: World,
  commands: readonly string[],
  options: Record<string, string> = {},
): Promise<Persuaded['given']> {
  const worker = new Persuaded(bus, ...commands);
  host.declare({ worker: { default: { cli: worker.cli, ...options } } });
  await host.approve();
  await host.send('worker', 'go on');
  await host.once();
  return worker.given;
}

it(
  'a run puts the files of a message into its own folders and nowhere else, whatever leads there',
  { tags: 'long' },
  async () => {
    const scene = await world();
    const { ref, outside, host } = scene;
    const read = `crosstalk read ${ref} --files`;
    const ran = await inRun(scene, [
      `${read} ${outside}`,
      `${read} ${outside}/autostart`,
      `cd ${outside} && ${read} .`,
      `ln -s ${outside} here && ${read} here`,
      `mkdir in && ln -s ${outside} in/link && ${read} in/link/new`,
      `${read} ../../../secrets`,
      `${read} ${host.state}/secrets`,
      `${read} ${host.dir}/files`,
      `CROSSTALK_WORKDIR=${outside} ${read} ${outside}`,
      `env -u CROSSTALK_RUN_DIR CROSSTALK_SANDBOX=1 CROSSTALK_WORKDIR=${outside} ${read} ${outside}`,
      `CROSSTALK_RUN_DIR=${outside} ${read} ${outside}`,
      `${read} .git/hooks`,
      `mkdir .claude && ln -s .claude settings && ${read} settings/commands`,
      `${read} got/deep && cat got/deep/login.sh`,
      `${read} "$CROSSTALK_RUN_DIR/got" && cat "$CROSSTALK_RUN_DIR/got/login.sh"`,
      `mkdir real && ln -s real known && ${read} known && cat real/login.sh`,
    ]);
    for (const { code, out, err } of ran.slice(0, 13))
      expect({ code, out, err }).toEqual({
        code: 2,
        out: '',
        err: expect.stringMatching(REFUSED) as string,
      });
    for (const { code, out } of ran.slice(13)) {
      expect(code).toBe(0);
      expect(out).toContain(BYTES);
    }
    expect(readdirSync(outside)).toEqual([]);
    for (const name of ['secrets', 'secrets/login.sh'])
      expect(existsSync(join(host.state, name)), name).toBe(false);
  },
);

it('a run overwrites nothing, through no symlink and no hard link, and what it gets cannot be executed', async () => {
  const scene = await world();
  const { ref, outside } = scene;
  const [soft, hard] = ['soft', 'hard'].map((name) => join(outside, name));
  for (const path of [soft!, hard!]) writeFileSync(path, 'the operator’s');
  const read = `crosstalk read ${ref} --files`;
  const ran = await inRun(scene, [
    `mkdir a && ln -s ${soft!} a/login.sh && ${read} a`,
    `mkdir b && ln ${hard!} b/login.sh && ${read} b`,
    `mkdir c && ln -s ${outside}/new c/login.sh && ${read} c`,
    `umask 0; ${read} d && stat -c %a d/login.sh`,
    `ln -s ${outside} e && ${read} e/new/folder`,
  ]);
  for (const { code, err } of ran.slice(0, 3)) {
    expect(code).toBe(1);
    expect(err).toContain('is not written');
  }
  expect(ran[3]?.out).toContain('600');
  expect(ran[4]).toMatchObject({ code: 2, err: expect.stringMatching(REFUSED) as string });
  for (const path of [soft!, hard!]) expect(readFileSync(path, 'utf8')).toBe('the operator’s');
  expect(readdirSync(outside).sort()).toEqual(['hard', 'soft']);
});

it(
  'a working directory that is a symlink is the folder it leads to, and no other one',
  { tags: 'long' },
  async () => {
    const scene = await world();
    const { bus, ref, outside } = scene;
    const real = join(bus.root, 'real');
    mkdirSync(real);
    symlinkSync(real, join(bus.root, 'linked'));
    const ran = await inRun(
      scene,
      [`crosstalk read ${ref} --files got`, `crosstalk read ${ref} --files ../real/../elsewhere`],
      { workdir: join(bus.root, 'linked') },
    );
    expect(ran.map(({ code }) => code)).toEqual([0, 2]);
    expect(readFileSync(join(real, 'got', 'login.sh'), 'utf8')).toBe(BYTES);
    expect(existsSync(join(bus.root, 'elsewhere'))).toBe(false);
    expect(readdirSync(outside)).toEqual([]);
  },
);

it(
  'an option or argument of a command for runs that may name a file is refused a path outside',
  { tags: 'long' },
  async () => {
    const scene = await world();
    const { ref, outside } = scene;
    writeFileSync(join(outside, 'file'), 'the secret of the operator');
    const lines = COMMANDS.filter(({ inRun: given }) => given !== undefined).flatMap((spec) =>
      fileOptions(spec).flatMap((option) =>
        ['file', 'new/file', '.'].map((name) => {
          const args = spec.name === 'read' ? ref : spec.name === 'reply' ? `${ref} x` : '';
          const to = spec.name === 'send' ? '--to other --new' : '';
          const subject = spec.name === 'memory add' ? '--subject s' : '';
          return `crosstalk ${spec.name} ${to} ${subject} --${option} '${outside}/${name}' ${args}`;
        }),
      ),
    );
    expect(lines.length).toBeGreaterThan(18);
    const ran = await inRun(scene, lines);
    for (const [at, { code, out }] of ran.entries())
      expect({ line: lines[at], code, out }).toEqual({ line: lines[at], code: 2, out: '' });
    expect(readdirSync(outside)).toEqual(['file']);
    const said = scene.bus.messages().map(({ message }) => message.body);
    expect(said.join('\n')).not.toContain('the secret');
  },
);

it('a variable alone names no folder to which a run may write, and a session has the one it is in', async () => {
  const { bus, host, ref, outside } = await world();
  const alone = await command(['read', ref, '--files', outside], {
    cwd: host.dir,
    env: { ...host.env, CROSSTALK_RUN_DIR: outside, CROSSTALK_WORKDIR: outside },
  });
  expect(alone).toMatchObject({ code: 2, err: expect.stringMatching(REFUSED) as string });
  const script = join(bus.root, 'session');
  const read = `crosstalk read ${ref} --files`;
  writeFileSync(
    script,
    `#!/bin/sh\n${read} ${outside}; echo "out: $?"\n${read} got; echo "in: $?"\n`,
    {
      mode: 0o755,
    },
  );
  host.declare({ worker: script });
  await host.approve();
  const session = new Program(host, 'open', '--actor', 'worker', '--host', 'laptop');
  await session.ended();
  expect(session.out).toContain('out: 2');
  expect(session.out).toContain('in: 0');
  expect(readdirSync(outside)).toEqual([]);
  expect(statSync(join(host.state, 'work', 'worker', 'session', 'got')).isDirectory()).toBe(true);
});
