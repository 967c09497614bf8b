import { CrosstalkError } from '../../../errors.ts';
import type { Context } from '../../../actions/context.ts';
import { listHeld, listWaiting, type HeldSecret } from '../../../actions/health/held-secrets.ts';
import { dropHeldSecrets, releaseHeldSecrets } from '../../../actions/upkeep/held.ts';
import { saidSecrets } from '../../../protocol/text/secrets.ts';
import { EXIT } from '../../command/io.ts';
import { inTransport, note, print, text, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';
import { colourless, table } from '../../view/render.ts';
import { localTimes } from '../../../present/times.ts';
import { queuedLine } from '../../../present/state.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'outbox',
    summary: 'what waits on this machine to be pushed, or is held because it looks like a secret',
    options: [
      ['--list', 'one line each, without the secret (default)'],
      [
        '--allow-secret <id>',
        'let one go as it is, or all: whoever can read the transport reads it',
      ],
      ['--drop <id>', 'forget one, or all; who waits for an answer is told that there is none'],
    ],
    details:
      'Everything that this machine writes is searched for keys, tokens and passwords before it is pushed; git config crosstalk.scanSecrets false ends that. An answer that is dropped becomes a dead letter, which crosstalk dlq --retry runs again.',
    example: 'crosstalk outbox',
    run,
  },
];

function run(call: Call): Promise<number> {
  const [allowed, dropped] = [text(call, 'allowSecret'), text(call, 'drop')];
  if (allowed !== undefined && dropped !== undefined)
    throw new CrosstalkError('usage', '--allow-secret and --drop were given; give one of them');
  return inTransport(call, (context) => {
    if (allowed !== undefined) return release(call, context, allowed);
    return dropped === undefined ? list(call, context) : drop(call, context, dropped);
  });
}

async function list(call: Call, context: Context): Promise<number> {
  const held = await listHeld(context);
  const all = [...held, ...(await listWaiting(context))];
  if (held.length === 0)
    note(call, all.length === 0 ? 'nothing waits or is held' : 'nothing is held');
  return print(call, all, () => table(all.map(row)));
}

function row({ id, at, what, found }: HeldSecret): string[] {
  const state = found.length === 0 ? 'waits to be pushed' : saidSecrets(found);
  return [id, localTimes(at), colourless(what), colourless(state)];
}

async function release(call: Call, context: Context, id: string): Promise<number> {
  const released = await releaseHeldSecrets(context, id);
  for (const { delivered } of released)
    if (!delivered.published) note(call, queuedLine(delivered.reason));
  const shape = released.map(({ id: one, delivered }) => ({
    id: one,
    status: delivered.published ? 'sent' : 'queued',
    reason: delivered.published ? null : delivered.reason,
  }));
  print(call, shape, () =>
    shape
      .map(({ id: one, status }) => `${status === 'sent' ? 'Sent' : 'Queued'}: ${one}`)
      .join('\n'),
  );
  return EXIT.ok;
}

async function drop(call: Call, context: Context, id: string): Promise<number> {
  const dropped = await dropHeldSecrets(context, id);
  return print(
    call,
    dropped.map((one) => ({ id: one, status: 'dropped' })),
    () => dropped.map((one) => `Dropped: ${one}`).join('\n'),
  );
}
