// One of many hosts that write to one branch: publishes its messages one after another, or all of
// them as fast as it can, and prints how long each took until it was on the remote.
import { once } from 'node:events';
import { directPublisher, withContext } from '../src/actions/context.ts';
import { outgoing } from '../src/protocol/outgoing.ts';

const [dir = '', alias = '', channel = '', count = '0', pace = ''] = process.argv.slice(2);

await withContext(
  { env: process.env, cwd: dir },
  { transport: dir, note: () => undefined },
  async (context) => {
    const attempts = { tried: 0, succeeded: 0 };
    const publisher = directPublisher(context);
    publisher.events.on('push', (result) => {
      attempts.tried += result.attempts;
      if (result.ok) attempts.succeeded++;
    });
    process.stdout.write('ready\n');
    await once(process.stdin, 'data');
    const latencies: number[] = [];
    const send = async (n: number): Promise<void> => {
      const begun = performance.now();
      const message = {
        from: alias,
        to: [{ name: 'nobody' }],
        type: 'text',
        timestamp: new Date().toISOString(),
        re: [],
        cause: [],
        extra: {},
        body: `message ${String(n)} of ${alias}\n`,
      };
      const { commit } = outgoing(message, channel, alias, context.suffix());
      const id = context.newId();
      await context.outbox.put({ id, commits: [commit] });
      for (;;) {
        const outcome = await publisher.publish(id);
        if (outcome.published) break;
      }
      latencies.push(performance.now() - begun);
    };
    const begun = performance.now();
    const numbers = Array.from({ length: Number(count) }, (_, n) => n);
    if (pace === 'together') await Promise.all(numbers.map(send));
    else for (const n of numbers) await send(n);
    const total = performance.now() - begun;
    process.stdout.write(`${JSON.stringify({ latencies, total, attempts })}\n`);
  },
);
process.exit(0);
