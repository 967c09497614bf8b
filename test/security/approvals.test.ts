import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { writeSealed } from '../../src/state/files.ts';
import { Transport } from '../../src/transport/transport.ts';
import { Bus, type Held, type Host } from '../support/bus.ts';

/** Printable ASCII, and the dot that separates the problems of doctor. */
const PLAIN = /^[\n\x20-\x7e·]*$/;

async function held(host: Host): Promise<Held[]> {
  const shown = await host.run('host', 'show', '--host', host.alias, '--json');
  return (JSON.parse(shown.out) as { held: Held[] }).held;
}

/** The actor's answer to a question, after one pass of the dispatcher. */
async function answer(host: Host, actor = 'worker'): Promise<string> {
  const question = await host.send(actor, 'who are you?');
  await host.once();
  return (await host.run('replies', question)).out;
}

describe('somebody pushes another command', () => {
  it('approve takes what was shown, not what was pushed since', { tags: 'long' }, async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    host.declare({ worker: 'echo looked at' });
    const [change] = await held(host);
    host.declare({ worker: 'echo unseen' });
    const approved = await host.run('host', 'approve', '--host', 'front', change!.digest);
    expect([approved.code, approved.out]).toEqual([0, expect.stringContaining('"echo looked at"')]);
    expect(approved.out).not.toContain('unseen');
    expect(await answer(host)).toContain('  looked at');
    expect(await held(host)).toMatchObject([{ proposed: 'echo unseen' }]);
  });

  it('a digest of what is no longer there is unknown, and nothing is approved', async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    host.declare({ worker: 'echo looked at' });
    const [change] = await held(host);
    host.declare({ worker: 'echo unseen', other: 'echo new' });
    const [, other] = await held(host);
    const approved = await host.run(
      'host',
      'approve',
      other!.digest,
      change!.digest,
      '--host',
      'front',
    );
    expect([approved.code, approved.out]).toEqual([1, '']);
    expect(approved.err).toContain(
      `no held change has the digest "${change!.digest}", so nothing was approved`,
    );
    expect(await held(host)).toHaveLength(2);
    expect(await answer(host)).toContain('  mine');
  });

  it('on a terminal it approves what it showed, also when something else arrives meanwhile', async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    host.declare({ worker: 'echo looked at', other: 'echo no' });
    await host.run('sync');
    const asked: string[] = [];
    const ask = (reply: (n: number) => Promise<string>) => (question: string) =>
      reply(asked.push(question));
    const approved = await host.runWith(
      { ask: ask((n) => Promise.resolve(n === 1 ? 'y' : '')) },
      ...['host', 'approve', '--host', 'front'],
    );
    expect(approved.err).toContain('  - "echo mine"\n  + "echo looked at"\n');
    expect(asked).toHaveLength(2);
    expect((await held(host)).map(({ name }) => name)).toEqual(['other.default']);

    host.declare({ worker: 'echo shown' });
    await host.run('sync');
    const raced = await host.runWith(
      {
        ask: ask(async () => {
          host.declare({ worker: 'echo unseen' });
          await host.run('sync');
          return 'all';
        }),
      },
      ...['host', 'approve', '--host', 'front'],
    );
    expect([raced.code, raced.err]).toEqual([1, expect.stringContaining('nothing was approved')]);
    expect(await answer(host)).toContain('  looked at');
  });

  it('approve without a digest is refused where there is nobody to ask', async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    host.declare({ worker: 'echo sneaked in' });
    await host.run('sync');
    const approved = await host.run('host', 'approve', '--host', 'front');
    expect([approved.code, approved.err]).toEqual([
      2,
      expect.stringContaining('crosstalk host approve <digest>...'),
    ]);
    expect(await answer(host)).toContain('  mine');
  });

  it.each([
    ['on a terminal', { ask: () => Promise.resolve('y') }],
    ['elsewhere', {}],
  ])('approve with nothing held says so on one line: %s', async (_, options) => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    expect(await host.runWith(options, 'host', 'approve')).toEqual({
      code: 0,
      out: 'nothing is held\n',
      err: '',
    });
    const json = await host.runWith(options, 'host', 'approve', '--json');
    expect(JSON.parse(json.out)).toMatchObject({ held: [], approved: false });
  });

  it(
    'whoever pushes cannot compute the digest, and so not find two texts with the same',
    { tags: 'long' },
    async () => {
      const bus = new Bus();
      const digests: (string | undefined)[] = [];
      for (const alias of ['one', 'two']) {
        const host = await bus.host(alias, { worker: 'echo mine' });
        host.declare({ worker: 'echo other' });
        digests.push((await held(host))[0]?.digest);
      }
      expect(digests[0]).toMatch(/^[0-9a-f]{12}$/);
      expect(digests[0]).not.toBe(digests[1]);
    },
  );

  it(
    'no escape, colour, direction or invisible character hides a part of it',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', { worker: 'echo mine' });
      const hidden = 'echo \u001b[8m$(touch x)\u001b[0m \u202e\u200b\u{e0041}\u3164\u009b8m сlaude';
      host.declare({ worker: { default: { cli: hidden, count: 2 }, 'a\u0430': 'true' } });
      const log = JSON.stringify(await host.once());
      const [change] = await held(host);
      const outputs = [
        await host.run('host', 'show', '--host', 'front'),
        await host.run('host', 'show', '--host', 'front', '--json'),
        await host.run('status', '--host', 'front'),
        await host.run('doctor', '--host', 'front'),
        await host.runWith(
          { ask: () => Promise.resolve('') },
          'host',
          'approve',
          '--host',
          'front',
        ),
        await host.run('host', 'approve', '--host', 'front', change!.digest),
        await host.run('status', '--host', 'front'),
      ];
      for (const { out, err } of outputs) {
        expect(out + err).toMatch(PLAIN);
        expect(out + err).toContain('echo \\u001b[8m$(touch x)\\u001b[0m \\u202e\\u200b');
      }
      expect(log).toContain('host_change_held');
      expect(change?.proposed).toBe(hidden);
    },
  );
});

describe('somebody pushes something else than a command', () => {
  it.each([
    ['count', 100_000],
    ['max_runs_per_hour', 100_000],
    ['max_depth', 100_000],
    ['attempts', 1000],
    ['retry_delay', '1ms'],
    ['timeout', '1ms'],
    ['only_from', 'mallory'],
  ])(
    '%s is held, seen, and the approved one stays in force',
    { tags: 'long' },
    async (option, value) => {
      const host = await new Bus().host('front', { worker: 'sleep 0.2; echo mine' });
      host.declare({ worker: { default: { cli: 'sleep 0.2; echo mine', [option]: value } } });
      expect(await answer(host)).toContain('  mine');
      const [change] = await held(host);
      expect(change?.changes).toMatchObject([{ option }]);
      const status = await host.run('status', '--host', 'front');
      expect(status.out).toMatch(
        new RegExp(
          `held until approved: worker.default: ${option} .*host approve ${change!.digest}`,
        ),
      );
      await host.run('host', 'approve', '--host', 'front', change!.digest);
      expect(await held(host)).toEqual([]);
    },
  );

  it(
    'another order of the tiers leaves the default one the default one',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', {
        worker: { safe: 'echo safe', wild: 'echo wild' },
      });
      host.declare({ worker: { wild: 'echo wild', safe: 'echo safe' } });
      expect(await answer(host)).toContain('  safe');
      expect(await held(host)).toMatchObject([
        { kind: 'default', name: 'worker', approved: 'safe', proposed: 'wild' },
      ]);
      await host.approve();
      expect(await answer(host)).toContain('  wild');
    },
  );

  it.each([
    ['changed in its profile', '---\nname: worker\ndescription: Works.\n---\n\nBe brief.\n'],
    ['gone with its profile', undefined],
  ])('that every host runs what one of them took is held where it is %s', async (_how, text) => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    const path = 'local/actors/worker.md';
    host.remove('upstream/actors/worker.md');
    host.edit({
      [path]: '---\nname: worker\ndescription: Works.\nserve: one\n---\n\nBe brief.\n',
    });
    await host.once();
    expect(await held(host)).toEqual([]);
    if (text === undefined) host.remove(path);
    else host.edit({ [path]: text });
    const log = await host.once();
    expect(log.find(({ event }) => event === 'host_change_held')).toMatchObject({
      kind: 'serve',
      name: 'worker.serve',
    });
    const [change, ...others] = await held(host);
    expect([change?.changes, others]).toEqual([
      [{ option: 'serve', approved: 'one', proposed: 'all' }],
      [],
    ]);
    const pooled = async (): Promise<unknown> =>
      JSON.parse((await host.run('host', 'show', '--host', 'front', '--json')).out);
    expect(await pooled()).toMatchObject({ actors: [{ name: 'worker', serve: 'one' }] });
    const rejected = await host.run('host', 'reject', '--host', 'front', change!.digest);
    expect([rejected.code, rejected.err]).toEqual([
      1,
      expect.stringContaining('crosstalk actor set worker serve=one'),
    ]);
    await host.run('host', 'approve', '--host', 'front', change!.digest);
    expect(await held(host)).toEqual([]);
    expect(await pooled()).toMatchObject({ actors: [{ name: 'worker', serve: 'all' }] });
    expect((await host.once()).map(({ event }) => event)).not.toContain('host_change_held');
  });

  it('a changed setting of the clone is held like a command, and approved by its digest alone', async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    const change = {
      name: 'core.sshCommand',
      recorded: ['ssh'],
      proposed: ['ssh \u001b[8m-o evil'],
    };
    const settings = vi.spyOn(Transport.prototype, 'changedSettings').mockResolvedValue([change]);
    const accept = vi.spyOn(Transport.prototype, 'acceptSettings');
    const log = await host.once();
    expect(log.find(({ event }) => event === 'host_change_held')).toMatchObject({
      kind: 'setting',
      name: 'core.sshCommand',
    });
    const [setting] = await held(host);
    const status = await host.run('status', '--host', 'front');
    expect(status.out).toContain(
      'core.sshCommand: value "ssh \\u001b[8m-o evil" (in force: "ssh")',
    );
    expect(accept).not.toHaveBeenCalled();
    await host.run('host', 'approve', '--host', 'front', setting!.digest);
    expect(accept.mock.calls).toEqual([[[change]]]);
    settings.mockRestore();
    accept.mockRestore();
  });
});

describe('the first start', () => {
  it('is over once init has approved what it wrote: what is pushed before any dispatch is held', async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const other = await bus.host('back', {});
    expect([host, other].map(({ state }) => existsSync(join(state, 'approvals.json')))).toEqual([
      true,
      true,
    ]);
    host.declare({ concierge: 'echo sneaked in' });
    await host.send('concierge', 'hello');
    const log = await host.once();
    expect(log.map(({ event }) => event)).toContain('host_change_held');
    expect(bus.from('concierge').map(({ message }) => message.body)).not.toContain('sneaked in\n');
  });

  it(
    'is none where the clone’s record is missing: everything is held',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', { worker: 'echo mine' });
      rmSync(join(host.state, 'approvals.json'));
      const log = await host.once();
      expect(log.find(({ event }) => event === 'host_change_held')).toBeDefined();
      expect(await answer(host)).toMatch(/^PENDING /);
      // Nor is there anything to run by in another state directory.
      host.env['CROSSTALK_STATE_DIR'] = `${host.state}-other`;
      expect(await answer(host)).toMatch(/^PENDING /);
      await host.approve();
      expect(await answer(host)).toContain('  mine');
    },
  );
});

describe('a command that names a file inside the transport', () => {
  const RELATIVE = 'sh local/run.sh';

  it('is refused by init, and leaves nothing', { tags: 'long' }, async () => {
    const bus = new Bus();
    const dir = join(bus.root, 'mine');
    const env = { CROSSTALK_STATE_DIR: join(bus.root, 'state') };
    const host = await bus.host('front', {});
    for (const cli of [RELATIVE, `sh ${dir}/local/run.sh`, 'sh "$CROSSTALK_TRANSPORT/x"'])
      for (const remote of [[], ['--remote', bus.hub]]) {
        const made = await host.runWith(
          { env },
          'init',
          dir,
          ...remote,
          '--alias',
          'x',
          '--cli',
          cli,
        );
        expect([made.code, made.err]).toEqual([
          1,
          expect.stringContaining(
            'inside the transport, which others can change; copy the program',
          ),
        ]);
        expect(existsSync(dir)).toBe(false);
      }
  });

  it('is refused by actor add, and by approve', { tags: 'long' }, async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo mine' });
    const link = join(bus.root, 'link');
    mkdirSync(join(host.dir, 'local'), { recursive: true });
    symlinkSync(join(host.dir, 'local'), link);
    for (const cli of [RELATIVE, `sh ${link}/run.sh`, `sh -c 'cd ${host.dir} && ./x'`]) {
      const added = await host.run('actor', 'add', 'a', '--cli', cli, '--host', 'front');
      expect([added.code, added.err]).toEqual([1, expect.stringContaining('inside the transport')]);
    }
    host.declare({ worker: RELATIVE });
    const [change] = await held(host);
    expect(change?.refused).toContain('"local/run.sh" inside the transport');
    const approved = await host.run('host', 'approve', '--host', 'front', change!.digest);
    expect([approved.code, approved.err]).toEqual([
      1,
      expect.stringContaining('cannot be approved'),
    ]);
    expect(await answer(host)).toContain('  mine');
  });

  it('is not run where it was approved before: its mail waits, and status says why', async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    host.declare({ worker: RELATIVE });
    const tiers = { default: { cli: RELATIVE } };
    const hosts = { front: { worker: { default: 'default', tiers } } };
    await writeSealed(join(host.state, 'approvals.json'), { version: 2, hosts });
    host.edit({ 'local/run.sh': 'echo pushed by somebody\n' });
    expect(await answer(host)).toMatch(/^PENDING/);
    const status = await host.run('status', '--host', 'front');
    expect(status.out).toMatch(/held: worker\.default: .*"local\/run\.sh" inside the transport/);
  });

  it(
    'is not approved by a first start, nor by trust in the host file',
    { tags: 'long' },
    async () => {
      const host = await new Bus().host('front', { worker: 'echo mine' });
      host.edit({ 'local/run.sh': 'echo pushed by somebody\n' });
      host.declare({ worker: RELATIVE });
      host.neverStarted();
      expect(await answer(host)).toMatch(/^PENDING/);
      await host.once('--trust-host-file');
      expect(await answer(host)).toMatch(/^PENDING/);
    },
  );

  it('is not what a pusher can make of one by pushing a file that is called so', async () => {
    const host = await new Bus().host('front', { worker: 'test -e tools/run.sh || echo mine' });
    host.edit({ 'tools/run.sh': 'echo pushed by somebody\n' });
    expect(await answer(host)).toContain('  mine');
    expect(await held(host)).toEqual([]);
  });
});

describe('somebody claims this machine', () => {
  const impostor = (fields: string): string =>
    `---\nalias: ${fields}\nactors:\n  worker:\n    default: echo impostor\n---\n`;

  it('by its alias: the host goes on, also after a restart, and says so', async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    host.edit({ 'hosts/impostor.md': impostor('front') });
    expect(await answer(host)).toContain('  mine');
    const log = await host.once();
    expect(log.find(({ event }) => event === 'host_file_invalid')?.['problem']).toContain(
      '"hosts/impostor.md" claims to be the host file of front',
    );
  });

  it('by its hostname: the clone knows which host it serves', async () => {
    const bus = new Bus();
    const host = await bus.host('front', { worker: 'echo mine' });
    host.edit({
      'hosts/front.md': impostor(`front\nhostname: ${hostname()}`).replace(
        'echo impostor',
        'echo mine',
      ),
      'hosts/a.md': impostor(`a\nhostname: ${hostname()}`),
    });
    const question = await host.send('worker', 'who are you?');
    expect((await host.run('dispatch', '--once')).err).toContain('"alias":"front"');
    expect((await host.run('replies', question)).out).toContain('  mine');
    host.remove('hosts/front.md');
    const gone = await host.run('dispatch', '--once');
    expect(gone.err).toContain('no host file says alias: front, which this clone serves');
  });
});

it(
  'a state that 6.0.0 left, or somebody has laid there, is not believed: what it approved is held',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: 'echo mine' });
    const path = join(host.state, 'approvals.json');
    const old = {
      version: 1,
      started: true,
      hosts: { front: { worker: { default: 'echo mine' } } },
    };
    writeFileSync(path, JSON.stringify(old));
    for (const name of ['state.key', 'clone.json']) rmSync(join(host.state, name));
    expect(await answer(host)).toMatch(/^PENDING/);
    expect(JSON.parse(readFileSync(`${path}.broken`, 'utf8'))).toEqual(old);
    expect((await host.run('status', '--host', 'front')).out).toContain('approvals.json.broken');
    const [change] = await held(host);
    expect(change).toMatchObject({ proposed: 'echo mine' });
    await host.run('host', 'approve', '--host', 'front', change!.digest);
    expect(await answer(host)).toContain('  mine');
  },
);
