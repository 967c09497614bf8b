import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { inSurroundings } from './handed.ts';
import { handOver } from './hand-over.ts';
import { sendInRun } from './in-run.ts';
import type { Surroundings } from '../locate.ts';
import type { Sent } from './perform.ts';
import type { SendInput } from './input.ts';

/**
 * Sends as a command does: handed whole to this machine's dispatcher, or without one done here, and
 * then the checkout is kept readable and the objects packed, as nobody else does it.
 *
 * @param options `note`: told what the operator should know; one line each
 * @param onSent told what came of it, before the housekeeping
 * @throws CrosstalkError `usage` for bad input; nothing is written then
 */
export async function submit(
  surroundings: Surroundings,
  options: { transport?: string; note: (line: string) => void },
  input: SendInput,
  onSent: (sent: Sent) => void,
): Promise<void> {
  const request = {
    id: ulid(),
    at: new Date().toISOString(),
    seed: randomBytes(16).toString('hex'),
    input: inSurroundings(surroundings, input),
  };
  if (surroundings.agentMode !== undefined) {
    const sent = await sendInRun(surroundings.agentMode, request, options.note);
    if (sent !== undefined) {
      onSent(sent);
      return;
    }
  }
  const served = await handOver(surroundings, options.transport, request, options.note);
  if (typeof served === 'object') {
    onSent(served);
    return;
  }
  if (served === 'timeout')
    request.input.unanswered = 'the dispatcher has not answered yet, and goes on';
  // Handing over does without all that this loads.
  const { withContext } = await import('../context.ts');
  await withContext(surroundings, options, async (context) => {
    const { sendAgain } = await import('./serve-send.ts');
    const sent = await sendAgain(context, request);
    onSent(sent);
    if (!sent.delivered.published || !sent.delivered.direct) return;
    const { followCheckout } = await import('../deliver.ts');
    await followCheckout(context);
  });
}
