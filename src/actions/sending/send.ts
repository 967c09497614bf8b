import type { MessageRef } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';
import type { Surroundings } from '../locate.ts';
import type { Attachment } from './attached.ts';
import {
  handedInput,
  type HandedSend,
  ANSWER_LIMIT_MS,
  askToSend,
  isHeard,
  listenerFor,
  type Answered,
  newIdempotencyKey,
  type IdempotencyKey,
} from './handed.ts';
import type { Prepared, SendInput, Sent } from './input.ts';
import { clockOf } from '../clock.ts';
import { CrosstalkError } from '../../errors.ts';
import type { SideFiles } from '../../state/side-files.ts';

/** The sender: its data from before a transport is open, and the function that opens one. */
export interface Sender {
  surroundings: Surroundings;
  /** Folder of the transport, if one is named. */
  transport?: string;
  /** Receives notes for the operator, one line each. */
  note: (line: string) => void;
  /** Opens the transport for some work; not called when a dispatcher does the work. */
  open: <T>(work: (context: Context) => Promise<T>) => Promise<T>;
  /**
   * The part that is delegated to a dispatcher of this machine: the complete message, or only the push of
   * a message recorded here, for senders that must learn of it before.
   */
  hands: 'whole' | 'recorded';
}

export interface SendOptions {
  /** Set if the message's path has to be known in advance. */
  marks?: IdempotencyKey;
  /** The attached files. */
  attachments?: readonly Attachment[];
  /** Called once a dispatcher was asked to send it; it may be on its way then. */
  onAsked?: (dispatcher: DispatcherPlace) => void;
  /** Called just before this process writes it to disk, if it does; nothing is sent when this throws. */
  onRecording?: () => void;
  /** Called once it is safe on this machine's disk, if this process writes it. */
  onDurable?: (messages: readonly MessageRef[]) => void;
  /** Receives the result before the housekeeping. */
  onSent?: (sent: Sent) => void;
}

/** Returns the sender of a process that has already opened its transport. */
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
 * Sends a message (protocol.md §4). Every message is sent through this function: by commands, MCP
 * clients, the chat and the page. In a run it goes to the dispatcher's endpoint for the run; otherwise to
 * the dispatcher of this machine, which has everything loaded; without a dispatcher it is sent from here,
 * and then the checkout is updated and the objects are packed, since no other process does that. In every
 * case {@link perform} does the work.
 *
 * @throws CrosstalkError `usage` for invalid input; nothing is written then
 */
export async function send(
  sender: Sender,
  said: SendInput,
  {
    marks = newIdempotencyKey(clockOf(sender.surroundings)),
    attachments = [],
    onAsked,
    onRecording,
    onDurable,
    onSent,
  }: SendOptions = {},
): Promise<Sent> {
  const files = attachments.map(({ file }) => file);
  const input = files.length === 0 ? said : { ...said, files };
  const taken = await takenOver(sender, input, marks, attachments, onAsked);
  if (typeof taken === 'object') {
    onSent?.(taken);
    return taken;
  }
  // A delegated message needs none of the modules that this loads.
  return sender.open(async (context) => {
    const { perform } = await import('./perform.ts');
    const sent = await perform(context, input, marks, {
      ...(onRecording && { onRecording }),
      ...(onDurable && { onDurable }),
      bytesFor: ({ sha256 }) =>
        Promise.resolve(attachments.find(({ file }) => file.sha256 === sha256)?.bytes),
      ...(isSealed(context, input) && {
        sign: (prepared) => sealed(context, input, prepared),
      }),
      ...(taken && { unanswered: await unanswered(context) }),
    });
    onSent?.(sent);
    // Both are for later readers, and neither needs the other.
    await Promise.all([
      sender.hands === 'whole' &&
        import('./idle.ts').then(({ noteIdle }) => noteIdle(context, sent)),
      sent.delivered.published &&
        sent.delivered.direct &&
        import('../deliver.ts').then(({ followCheckout }) => followCheckout(context)),
    ]);
    return sent;
  });
}

/** Returns the message that it is unknown whether the dispatcher, which was asked, has sent something. */
async function unanswered({ paths }: Context): Promise<string> {
  const { holderOf } = await import('../../state/lock.ts');
  const holder = await holderOf(paths.root, 'dispatcher').catch(() => undefined);
  const which = holder === undefined ? '' : ` (process ${String(holder.pid)})`;
  return `the dispatcher${which} has not answered for ${String(ANSWER_LIMIT_MS / 1000)} s; crosstalk status says how it is`;
}

function isSealed(context: Context, { decision }: SendInput): boolean {
  return decision !== undefined || isSigning(context);
}

/** Signs the messages, and records a person's decision; the module for this is rarely needed. */
async function sealed(
  context: Context,
  { decision }: SendInput,
  prepared: Prepared,
): Promise<Prepared> {
  const { signed } = await import('./signing.ts');
  const written = isSigning(context) ? await signed(context, prepared) : prepared;
  if (decision !== undefined)
    await context.decided.note(written.messages.flatMap(({ commit }) => commit.files));
  return written;
}

/**
 * Whether messages from here are signed (docs/decisions/16-signatures.md): a person's are, if a key is configured; those of a
 * run, or of a session as an actor, are not.
 */
function isSigning({ transport, agentMode, dispatch }: Context): boolean {
  const { signingKey = '' } = transport.defaults;
  return signingKey !== '' && agentMode === undefined && dispatch.id === undefined;
}

/** The answer of the dispatcher that took the message over; `timeout` when it has not answered. */
async function takenOver(
  { surroundings, transport, note, hands }: Sender,
  input: SendInput,
  marks: IdempotencyKey,
  attachments: readonly Attachment[],
  onAsked: SendOptions['onAsked'],
): Promise<Sent | 'timeout' | undefined> {
  if (hands === 'recorded' || input.decision !== undefined) return undefined;
  // A dispatcher of an older version would send it without this field.
  if (input.steers !== undefined) return undefined;
  const request = { ...marks, input: handedInput(surroundings, input) };
  const { agentMode } = surroundings;
  if (agentMode !== undefined) {
    const { sendInRun } = await import('./in-run.ts');
    const sent = await sendInRun(agentMode, request, attachments, note);
    if (sent !== undefined) return sent;
  }
  const heard = { note, ...(onAsked && { onAsked }) };
  return handOver(surroundings, transport, request, attachments, heard);
}

/** Callbacks of the sender during a delegation. */
interface Heard {
  /** Receives notes for the operator, one line each. */
  note: (line: string) => void;
  /** Called once the dispatcher was asked; the message may be on its way then. */
  onAsked?: (dispatcher: DispatcherPlace) => void;
}

/**
 * Delegates a `send` to the dispatcher of this machine, which has everything loaded, so that the command
 * itself starts no git and reads nothing.
 *
 * The bytes of attached files are stored next to the outbox first, under the id of its entry, where the
 * dispatcher finds them: they are too large for a socket, and a path could change in the meantime.
 *
 * Nothing is lost or duplicated if the dispatcher dies in the meantime: the command then does the same
 * itself, under the same ids, and published files are recognised by their paths.
 *
 * @returns undefined when no dispatcher could be asked, `timeout` when it did not answer in time
 * @throws CrosstalkError the error of the dispatcher's `send`
 */
async function handOver(
  surroundings: Surroundings,
  transport: string | undefined,
  request: Omit<HandedSend, 'dir'>,
  attachments: readonly Attachment[],
  { note, onAsked }: Heard,
): Promise<Sent | 'timeout' | undefined> {
  const listener = listenerFor(surroundings, transport);
  if (listener === undefined) return undefined;
  const { root } = listener.state;
  const kept = attachments.length === 0 ? undefined : root;
  if (kept !== undefined) {
    if (!isHeard(listener)) return undefined;
    await keepFor(kept, request.id, attachments);
  }
  const answer = await askToSend(listener, request, () => onAsked?.(listener.state));
  // A late dispatcher may still need them, and a held message waits for a person with its files.
  const isKept =
    answer === 'timeout' || answer?.sent !== undefined || answer?.error?.code === 'held';
  if (kept !== undefined && !isKept) await (await sideFilesIn(kept)).remove(request.id);
  return outcomeOf(answer, note);
}

/**
 * Returns the outcome of a delegated `send`, as {@link handOver} does.
 *
 * @throws CrosstalkError the error of the dispatcher's `send`
 */
function outcomeOf(answer: Answered, note: (line: string) => void): Sent | 'timeout' | undefined {
  if (answer === undefined || answer === 'timeout') return answer;
  for (const line of answer.notes) note(line);
  if (answer.error !== undefined) throw new CrosstalkError(answer.error.code, answer.error.message);
  return answer.sent && { ...answer.sent, ...(answer.since && { since: answer.since }) };
}

async function keepFor(
  root: string,
  id: string,
  attachments: readonly Attachment[],
): Promise<void> {
  const files = await sideFilesIn(root);
  for (const { file, bytes } of attachments) await files.put(id, file.sha256, bytes);
}

/** Loads the store only for a message with files, as a command that delegates its message needs little else. */
async function sideFilesIn(root: string): Promise<SideFiles> {
  const { SideFiles } = await import('../../state/side-files.ts');
  return new SideFiles(root);
}

/** The paths of the dispatcher that a message was delegated to: its socket, and files next to it. */
export interface DispatcherPlace {
  socket: string;
  /** The file of the pinned keys. */
  pins: string;
  /** The file with the messages that people have seen. */
  seen: string;
}
