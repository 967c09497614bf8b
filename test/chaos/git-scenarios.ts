import { git } from '../support/git.ts';
import { BODY, deliveredOnce, unless, type Scenario } from './git-scenario.ts';

/** Commands of everyday use. */
export const DAILY: readonly Scenario[] = [
  {
    name: 'send',
    prepare: () => Promise.resolve(''),
    run: ({ host }) => host.run('send', '--to', 'worker', '--', BODY),
    check: async (machine, ran) => [
      ...unless({
        'it says that it was sent, and ended well, or neither':
          /^(Sent|Queued): /.test(ran.out) === (ran.code === 0),
        'Sent, and not on the remote':
          !ran.out.startsWith('Sent: ') || machine.count('operator', BODY) === 1,
      }),
      ...(await deliveredOnce(machine, ran.code === 0)),
    ],
  },
  {
    name: 'sync with a full outbox',
    prepare: async ({ bus, host }) => {
      bus.unplug();
      await host.run('send', '--to', 'worker', '--', BODY);
      bus.plug();
      host.edit({ 'data/memories/note.md': 'news\n' });
      return '';
    },
    run: ({ host }) => host.run('sync'),
    check: async (machine, ran) => [
      ...unless({
        'Pushed, and not on the remote':
          !ran.out.includes('Pushed: 1') || machine.count('operator', BODY) === 1,
        'it ended well, and left the message': ran.code !== 0 || ran.out.includes('Pushed: 1'),
      }),
      ...(await deliveredOnce(machine)),
    ],
  },
  {
    name: 'a pass of the dispatcher with a question to be answered',
    prepare: async ({ host }) => {
      await host.send('worker', BODY);
      return '';
    },
    run: ({ host }) => host.run('dispatch', '--once', '--host', 'front'),
    check: async (machine, ran) => [
      ...unless({
        'it ended well, and the question is not answered on the remote':
          ran.code !== 0 || machine.count('worker', 'answered') === 1,
      }),
      ...(await deliveredOnce(machine)),
    ],
  },
  {
    name: 'a pass of the dispatcher with an answer to be pushed',
    prepare: async ({ bus, host }) => {
      await host.send('worker', BODY);
      // The first pass learns of it, and cannot push the result.
      await host.news();
      bus.unplug();
      await host.run('dispatch', '--once', '--host', 'front');
      bus.plug();
      host.edit({ 'data/memories/note.md': 'news\n' });
      return '';
    },
    run: ({ host }) => host.run('dispatch', '--once', '--host', 'front'),
    check: async (machine, ran) => [
      ...unless({
        'it ended well, and the answer is not on the remote':
          ran.code !== 0 || machine.count('worker', 'answered') === 1,
      }),
      ...(await deliveredOnce(machine)),
    ],
  },
  {
    name: 'status of a machine whose host file is broken',
    prepare: async ({ host }) => {
      host.edit({ 'hosts/front.md': '---\nalias: front\nactors: 3\n---\n' });
      await host.run('sync');
      return '';
    },
    run: ({ host }) => host.run('status', '--host', 'front'),
    check: async (machine, ran) => [
      ...unless({ 'it says that all is well': !/^healthy/m.test(ran.out) }),
      ...(await machine.settle()).filter((problem) => !problem.includes('hosts/front.md')),
    ],
  },
  {
    name: 'doctor of a machine whose remote may not be written',
    code: 1,
    prepare: ({ bus }) => {
      git(bus.hub, 'config', 'receive.denyNonFastForwards', 'true');
      git(bus.hub, 'config', 'transfer.hideRefs', 'refs/heads');
      return Promise.resolve('');
    },
    run: ({ host }) => host.run('doctor', '--host', 'front'),
    check: async (machine, ran) => {
      git(machine.bus.hub, 'config', '--unset', 'transfer.hideRefs');
      return [
        ...unless({ 'it says that all is well': ran.code !== 0 }),
        ...(await deliveredOnce(machine, false)),
      ];
    },
  },
  {
    name: 'replies --wait, of an answer that is to be fetched',
    prepare: async ({ host }) => {
      const question = await host.send('somebody', BODY);
      host.edit({
        [`data/channels/${host.channel()}/2026/10/10/120000000Z-0000000a.md`]: `---\nfrom: somebody\nto: operator\ntype: text\ntimestamp: 2026-10-10T12:00:00Z\nhost: back\nre: ${question}\n---\n\nthis\n`,
      });
      return question;
    },
    run: ({ host }, question) => host.run('replies', question, '--wait', '--timeout', '6'),
    check: async (machine, ran) => [
      ...unless({ 'it ended well without the answer': ran.code !== 0 || ran.out.includes('this') }),
      ...(await machine.settle()),
    ],
  },
];
