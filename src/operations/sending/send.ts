import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Context } from '../context.ts';
import type { Surroundings } from '../locate.ts';
import { handedInput } from './handed.ts';
import { handOver } from './hand-over.ts';
import { sendInRun } from './in-run.ts';
import type { SendInput, Sent } from './input.ts';
import { newMarks, type Marks } from './marks.ts';
import { timeAndChanceOf } from '../time-and-chance.ts';

/** Who sends: what is known of it before a transport is open, and how one is opened. */
export interface Sender {
  surroundings: Surroundings;
  /** Folder of the transport, where one is named. */
  transport?: string;
  /** Told what the operator should know; one line each. */
  note: (line: string) => void;
  /** Gives the opened transport to work; a message that somebody takes over does without. */
  open: <T>(work: (context: Context) => Promise<T>) => Promise<T>;
  /**
   * What a dispatcher of this machine takes over: the message whole, or only the push of what was
   * recorded here, where somebody has to be told of it before.
   */
  hands: 'whole' | 'recorded';
}

export interface SendOptions {
  /** Where it has to be known before where the message will stand. */
  marks?: Marks;
  /** Called once it is safe on this machine's disk, if this process puts it there. */
  onDurable?: (messages: readonly MessageRef[]) => void;
  /** Told what came of it, before the housekeeping. */
  onSent?: (sent: Sent) => void;
}

/** The sender of a process that has its transport open already. */
export function senderIn(context: Context, hands: Sender['hands'] = 'whole'): Sender {
  return {
    surroundings: context,
    transport: context.transport.dir,
    note: context.note,
    open: (work) => work(context),
    hands,
  };
}

/**
 * Sends a message (protocol.md §4): the one way in for all who send, a command, a client of MCP, the
 * chat, the page. In a run it goes to the desk of the run; else to the dispatcher of this machine, which
 * has all at hand that it takes; without one it is done here, and then the checkout is kept readable
 * and the objects packed, as nobody else does it. Whoever does it {@link perform}s it.
 *
 * @throws CrosstalkError `usage` for bad input; nothing is written then
 */
export async function send(
  sender: Sender,
  input: SendInput,
  { marks = newMarks(timeAndChanceOf(sender.surroundings)), onDurable, onSent }: SendOptions = {},
): Promise<Sent> {
  const taken = await takenOver(sender, input, marks);
  if (typeof taken === 'object') {
    onSent?.(taken);
    return taken;
  }
  // A message that is taken over does without all that this loads.
  return sender.open(async (context) => {
    const { perform } = await import('./perform.ts');
    const sent = await perform(context, input, marks, {
      ...(onDurable && { onDurable }),
      ...(taken && { unanswered: 'the dispatcher has not answered yet, and goes on' }),
    });
    onSent?.(sent);
    if (sent.delivered.published && sent.delivered.direct) {
      const { followCheckout } = await import('../deliver.ts');
      await followCheckout(context);
    }
    return sent;
  });
}

/** What whoever took it over says; `timeout` where the dispatcher has not answered. */
async function takenOver(
  { surroundings, transport, note, hands }: Sender,
  input: SendInput,
  marks: Marks,
): Promise<Sent | 'timeout' | undefined> {
  if (hands === 'recorded') return undefined;
  const request = { ...marks, input: handedInput(surroundings, input) };
  const { agentMode } = surroundings;
  const inRun = agentMode && (await sendInRun(agentMode, request, note));
  return inRun ?? handOver(surroundings, transport, request, note);
}
