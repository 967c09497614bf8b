import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus } from '../support/bus.ts';
import { Program } from '../support/process.ts';
import { rowsIn } from '../support/rows.ts';
import { until } from '../support/wait.ts';

it('a send that is interrupted while it is pushed says that the message is queued, and it is sent once', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  const [begun, gate] = [join(bus.root, 'begun'), join(bus.root, 'gate')];
  const wait = `for i in $(seq 600); do test -e ${gate} && break; sleep 0.1; done`;
  const hook = join(bus.hub, 'hooks', 'pre-receive');
  writeFileSync(hook, `#!/bin/sh\ntouch ${begun}\n${wait}\n`, { mode: 0o755 });
  const send = new Program(host, 'send', '--to', 'worker', 'once');
  await until('the push', () => existsSync(begun));
  expect(await send.stop('SIGINT')).toBe(130);
  expect(send.err).toContain('the message is queued, do not send it again');
  writeFileSync(gate, '');
  await until('the end of the push that was left', () => bus.messages().length === 1);
  expect((await host.run('sync')).code).toBe(0);
  expect(bus.messages().map(({ message }) => message.body)).toEqual(['once']);
  for (const kind of ['outbox', 'outbox-held']) expect(rowsIn(host.state, kind)).toEqual([]);
});
