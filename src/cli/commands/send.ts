import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { CrosstalkError } from '../../errors.ts';
import { handOver } from '../../operations/hand-over.ts';
import type { SendInput, Sent } from '../../operations/send.ts';
import { readBody } from '../body.ts';
import { EXIT } from '../exit.ts';
import { given, inTransport, note, print, text, type Call } from '../command.ts';

export async function run(call: Call): Promise<number> {
  const { io, options } = call;
  const to = text(call, 'to');
  if (to === undefined)
    throw new CrosstalkError(
      'usage',
      '--to is missing; say to whom: crosstalk send --to <name> "<text>"',
    );
  const input: SendInput = {
    to,
    body: await readBody(call, 'message'),
    ...given(call, 'channel', 'from', 'tier'),
    isNew: options['new'] === true,
    wait: options['wait'] !== false,
    login: io.login,
  };
  const request = {
    id: ulid(),
    at: new Date().toISOString(),
    seed: randomBytes(16).toString('hex'),
    input,
  };
  const served = await handOver(io, text(call, 'transport'), request, (line) => {
    note(call, line);
  });
  if (typeof served === 'object') return report(call, served);
  if (served === 'timeout') input.unanswered = 'the dispatcher has not answered yet, and goes on';
  return inTransport(call, async (context) => {
    const { sendAgain } = await import('../../operations/serve-send.ts');
    const sent = await sendAgain(context, request);
    report(call, sent);
    // Without a dispatcher nobody else keeps the checkout readable and the objects packed.
    if (sent.delivered.published && sent.delivered.direct) {
      const { Checkout } = await import('../../dispatcher/checkout.ts');
      await new Checkout(context.transport, context.now).follow();
      await context.transport.maintain();
    }
    return EXIT.ok;
  });
}

function report(call: Call, { delivered, messages, channel, from }: Sent): number {
  if (!delivered.published) note(call, `queued, not on the remote yet: ${delivered.reason}`);
  const result = {
    channel,
    from,
    status: delivered.published ? 'sent' : 'queued',
    reason: delivered.published ? null : delivered.reason,
    messages,
  };
  const word = delivered.published ? 'Sent' : 'Queued';
  return print(call, result, () => messages.map(({ relPath }) => `${word}: ${relPath}`).join('\n'));
}
