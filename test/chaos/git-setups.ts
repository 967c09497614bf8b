import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Held } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { BODY, deliveredOnce, unless, type Scenario } from './git-scenario.ts';

/** Commands of occasional use: a machine joins, commands are approved, the past is archived. */
export const SETUPS: readonly Scenario[] = [
  {
    name: 'archive',
    patient: /^(bundle|clone|fast-import) /,
    prepare: async (machine) => {
      const { host } = machine;
      const old = '2025/01/01/120000000Z-0000000a.md';
      const folder = `data/channels/${host.channel()}`;
      const head = 'type: text\ntimestamp: 2025-01-01T10:00:00Z\nhost: front\n';
      host.edit({
        [`${folder}/${old}`]: `---\nfrom: operator\nto: worker\n${head}---\n\nold\n`,
        [`${folder}/2025/01/02/120000000Z-0000000b.md`]: `---\nfrom: worker\nto: operator\n${head}re: ${old}\n---\n\nso\n`,
      });
      await host.once();
      return join(machine.bus.root, 'old.bundle');
    },
    run: ({ host }, bundle) =>
      host.run('archive', '--before', '2025-06-01', '--bundle', bundle, '--yes'),
    check: async (machine, ran, bundle) => {
      const left = (): number => machine.count('operator', 'old');
      const problems = unless({
        'it ended well, and the old message is still there': ran.code !== 0 || left() === 0,
      });
      // What was removed from the bus has to be in the bundle.
      if (left() === 0) {
        const back = await machine.host.run('archive', '--restore', bundle);
        problems.push(...unless({ [`gone for good: ${back.err}`]: left() === 1 }));
      }
      problems.push(...(await machine.settle()));
      return [...problems, ...unless({ 'what was archived ran again': machine.runs === 0 })];
    },
  },
  {
    name: 'a pass of the dispatcher after an archive was restored',
    prepare: async (machine) => {
      const { bus, host } = machine;
      const head = 'type: text\ntimestamp: 2025-01-01T10:00:00Z\nhost: front\n';
      const path = `data/channels/${host.channel()}/2025/01/01/120000000Z-0000000a.md`;
      host.edit({ [path]: `---\nfrom: operator\nto: worker\n${head}---\n\n${BODY}\n` });
      // Without this flag, messages that were restored would be delivered if they were taken for
      // new ones.
      await host.once('--from-now');
      const bundle = join(bus.root, 'old.bundle');
      const before = ['--before', '2025-06-01', '--with-waiting'];
      for (const options of [
        [...before, '--bundle', bundle, '--yes'],
        ['--restore', bundle],
      ]) {
        const done = await host.run('archive', ...options);
        if (done.code !== 0) throw new Error(done.err);
        if (options[0] === '--before') await host.once();
      }
      return '';
    },
    run: ({ host }) => host.run('dispatch', '--once', '--host', 'front'),
    check: async (machine) => [
      ...(await machine.settle()),
      ...unless({ 'what came back ran': machine.runs === 0 }),
    ],
  },
  {
    name: 'host approve',
    prepare: async (machine) => {
      const { host } = machine;
      host.declare({ worker: `${machine.logged('answer')} again` });
      await host.run('sync');
      const shown = await host.run('host', 'show', '--host', 'front', '--json');
      const { held } = JSON.parse(shown.out) as { held: Held[] };
      return held[0]?.digest ?? 'nothing is held';
    },
    run: ({ host }, digest) => host.run('host', 'approve', '--host', 'front', digest),
    check: async (machine, ran, digest) => {
      const shown = await machine.host.run('host', 'show', '--host', 'front', '--json');
      const { held } = JSON.parse(shown.out) as { held: Held[] };
      const isHeld = held.some((change) => change.digest === digest);
      return [
        ...unless({ 'it ended well, and is still held': ran.code !== 0 || !isHeld }),
        ...(await machine.settle()),
      ];
    },
  },
  {
    name: 'init of a clone that joins',
    patient: /^fetch .*--filter=blob:none/,
    prepare: () => Promise.resolve('back'),
    run: ({ bus, host }, alias) =>
      host.runWith(
        { env: { CROSSTALK_STATE_DIR: join(bus.root, 'back-state') } },
        ...['init', join(bus.root, 'back'), '--remote', bus.hub, '--alias', alias, '--cli', 'true'],
      ),
    check: async (machine, ran) => {
      const { bus, host } = machine;
      const dir = join(bus.root, 'back');
      const env = { CROSSTALK_STATE_DIR: join(bus.root, 'back-state') };
      const problems: string[] = [];
      if (ran.code !== 0) {
        // What it left behind must not prevent a second attempt that follows its own advice.
        const again = await host.runWith(
          { env },
          'init',
          dir,
          '--remote',
          bus.hub,
          '--alias',
          'back',
          '--cli',
          'true',
        );
        if (again.code !== 0) {
          rmSync(dir, { recursive: true, force: true });
          const anew = await host.runWith(
            { env },
            'init',
            dir,
            '--remote',
            bus.hub,
            '--alias',
            'back',
            '--cli',
            'true',
          );
          problems.push(...unless({ [`it cannot be made again: ${anew.err}`]: anew.code === 0 }));
        }
      }
      const sent = await host.runWith(
        { env: { ...env, CROSSTALK_TRANSPORT: dir } },
        ...['send', '--to', 'worker', '--', BODY],
      );
      const branches = git(bus.hub, 'for-each-ref', '--format=%(refname)', 'refs/heads').trim();
      return [
        ...problems,
        ...unless({
          [`its first message was not sent: ${sent.err}`]: sent.out.startsWith('Sent: '),
          [`branches of the remote: ${branches}`]: branches === 'refs/heads/main',
        }),
        ...(await deliveredOnce(machine)),
      ];
    },
  },
  {
    name: 'the first send from a clone that stands on a branch of its own',
    prepare: (machine) => {
      const { bus } = machine;
      const dir = join(bus.root, 'plain');
      git(bus.root, 'clone', '--quiet', bus.hub, dir);
      git(dir, 'checkout', '--quiet', '-b', 'mine');
      // As after a manual fetch: git itself does not know the default branch of the remote.
      git(dir, 'remote', 'set-head', 'origin', '--delete');
      git(bus.hub, 'branch', 'other', 'main');
      git(dir, 'fetch', '--quiet');
      return Promise.resolve(dir);
    },
    run: ({ bus, host }, dir) =>
      host.runWith(
        { env: { CROSSTALK_STATE_DIR: join(bus.root, 'plain-state'), CROSSTALK_TRANSPORT: dir } },
        ...['send', '--to', 'worker', '--', BODY],
      ),
    check: async (machine, ran, dir) => {
      const { bus, host } = machine;
      const env = { CROSSTALK_STATE_DIR: join(bus.root, 'plain-state'), CROSSTALK_TRANSPORT: dir };
      const synced = await host.runWith({ env }, 'sync');
      const branches = git(bus.hub, 'for-each-ref', '--format=%(refname:short)', 'refs/heads');
      const recorded = await host.runWith({ env }, 'status', '--json');
      const { branch = 'main' } = JSON.parse(recorded.out || '{}') as { branch?: string };
      return [
        ...unless({
          [`a clean sync failed afterwards: ${synced.err}`]: synced.code === 0,
          [`branches of the remote: ${branches}`]: branches === 'main\nother\n',
          [`its bus is ${branch}`]: branch === 'main',
        }),
        ...(await deliveredOnce(machine, ran.code === 0)),
      ];
    },
  },
];
