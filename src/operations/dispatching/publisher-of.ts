import type { Expected } from '../../bus/expected.ts';
import { Publisher } from '../../bus/publisher.ts';
import { passed } from '../../crash-points.ts';
import type { Deliveries } from '../../dispatcher/intake/deliveries.ts';
import type { Log } from '../../log.ts';
import { acquire } from '../../state/lock.ts';
import { settledBy } from '../../state/outbox.ts';
import type { Context } from '../context.ts';
import { publishing } from '../publishing.ts';
import type { HostReporting } from './host-reporting.ts';

const WRITER_WAIT_MS = 10_000;

/** Creates the part that empties the outbox and settles the deliveries that the published messages answer. */
export function publisherOf(
  context: Context,
  deliveries: Deliveries,
  expected: Expected,
  log: Log,
  reporting: Pick<HostReporting, 'beside'>,
): Publisher {
  const { outbox, paths } = context;
  const publisher = new Publisher({
    outbox,
    lookForSecrets: (entry) => context.screen.look(entry),
    expected,
    publish: publishing(context),
    beside: (entries) => reporting.beside(entries),
    mayPush: () => context.budget.push(),
    lock: (signal) => acquire(paths.root, 'writer', { wait: WRITER_WAIT_MS, signal }),
    now: context.now,
    onPublished: async ({ delivery }) => {
      if (delivery === undefined) return;
      for (const { actor, channel, messages } of settledBy(delivery))
        await deliveries.leave(actor, channel, messages);
      passed('settled');
    },
  });
  publisher.events.on('push', (result) => {
    if (result.ok) deliveries.reached(result.tip);
  });
  publisher.events.on('push', (result) => {
    const { attempts } = result;
    if (result.ok) log('push_done', { commits: result.commits, attempts });
    else {
      const { kind, reason } = result.failure;
      log('push_failed', { kind, reason, attempts });
    }
  });
  publisher.events.on('setAside', ({ id, commits }, reason) => {
    const files = commits.flatMap((commit) => commit.files.map(({ path }) => path));
    log('set_aside', { id, files: files.slice(0, 10), reason });
  });
  publisher.events.on('held', ({ id, delivery }, found) => {
    const { actor, channel, messages } = delivery ?? {};
    log('secret_held', { id, ...(delivery && { actor, channel, messages }), found });
  });
  return publisher;
}
