import { CrosstalkError } from '../../errors.ts';
import { EVERYONE, parseAddress } from '../../protocol/address.ts';
import type { Memory } from '../../protocol/files/memory.ts';
import type { Located } from '../../protocol/message.ts';
import { isName, suffixOf } from '../../protocol/layout.ts';
import { isAnswer } from '../../protocol/owed.ts';
import { compactTask } from '../../protocol/prompt/prompt.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { messagesAt } from '../lookup/arrivals.ts';
import { withNaming } from '../lookup/naming.ts';
import { resolveMessage } from '../lookup/resolve.ts';
import { ask, type Asked, type AskEvents } from '../sending/ask.ts';
import type { Sender, SendOptions } from '../sending/send.ts';
import { gather } from '../tracing/gather.ts';
import { servedNames } from '../tracing/thread.ts';
import { withNamed, writeMemory, type AddedMemory } from '../memory/add.ts';
import { readMemories } from '../memory/memories.ts';

/** A thread to summarise, and the actor that does it. */
interface CompactInput {
  /** Any message of the thread. */
  message: string;
  /** The actor that summarises it; by default the one that wrote last in it. */
  by?: string;
  from?: string;
  login: string;
}

/** A thread, and the result of the request to summarise it. */
export interface Compacted {
  asked: Asked;
  /** The note, once there is an answer. */
  added?: AddedMemory;
  /** Number of messages that the note summarises, and of all messages in the thread. */
  covered: number;
  messages: number;
  /** Whether these are all messages; a longer thread is not gathered completely. */
  complete: boolean;
}

/** Task for the actor, made from the messages of the thread. */
interface Task {
  channel: string;
  root: string;
  by: string;
  body: string;
  covered: Located[];
  messages: number;
  complete: boolean;
}

/**
 * Asks an actor to summarise a thread, waits for its answer, and stores it as a note of the kind
 * `archive`, which names the messages that it covers and replaces the one that was made of this thread
 * before (automation.md, "Memory"). It happens only on request; the messages stay.
 *
 * @throws CrosstalkError `usage` when nobody can be asked, `not_found` for a message that does not exist,
 *   and as {@link ask} does
 */
export async function compact(
  sender: Sender,
  { message, by, ...input }: CompactInput,
  limits: { timeout: number; signal: AbortSignal } & Pick<SendOptions, 'marks'>,
  events: AskEvents,
): Promise<Compacted> {
  const task = await sender.open((context) => taskOf(context, message, by));
  const { channel, body } = task;
  const question = { ...input, to: task.by, channel, body, isNew: true, wait: true };
  const asked = await ask(sender, question, limits, events);
  const { messages, complete } = task;
  const counts = { covered: task.covered.length, messages, complete };
  const answer = asked.question.replies.find((one) => isAnswer(one.message));
  if (answer === undefined || answer.message.body.trim() === '') return { asked, ...counts };
  const added = await sender.open((context) => keep(context, task, answer, asked.sent.from));
  return { asked, added, ...counts };
}

async function taskOf(context: Context, given: string, by: string | undefined): Promise<Task> {
  assertOne(by);
  await refreshOrNote(context);
  const { channel, relPath: asked } = await resolveMessage(context, given);
  const tip = await tipOf(context);
  const found = await withNaming(context, tip, (naming) =>
    gather(context, tip, { channel, relPath: asked }, [], naming),
  );
  const refs = found.messages.map(({ relPath }) => ({ channel, relPath }));
  const messages = await messagesAt(
    context,
    tip,
    refs.sort((a, b) => (a.relPath < b.relPath ? -1 : 1)),
  );
  if (messages.length < 2)
    throw new CrosstalkError(
      'usage',
      `the thread of ${asked} has nothing to sum up: ${messages.length === 0 ? 'it cannot be read' : 'it is a single message'}`,
    );
  const served = await servedNames(context, tip);
  const last = messages.findLast((one) => served.has(one.message.from))?.message.from;
  const whom = by ?? last;
  if (whom === undefined)
    throw new CrosstalkError(
      'usage',
      `no actor has written in the thread of ${asked}; say who sums it up with: --by <actor>`,
    );
  const { body, covered } = compactTask(messages);
  const root = messages[0]?.relPath ?? asked;
  const { complete } = found;
  return { channel, root, by: whom, body, covered, messages: messages.length, complete };
}

/**
 * Ensures that `by` is one actor: several would be paid for, and only one would be used.
 *
 * @throws CrosstalkError `usage` when it is not
 */
function assertOne(by: string | undefined): void {
  if (by === undefined) return;
  const address = parseAddress(by);
  if (address.ok && isName(address.value.name) && address.value.name !== EVERYONE) return;
  throw new CrosstalkError('usage', `--by is ${shown(by)}, expected one actor: name or name@host`);
}

/** Maximum digits of a message's suffix in the name of a note, which is then as long as a name may be. */
const MAX_DIGITS = 40;

async function keep(
  context: Context,
  { channel, root, covered }: Task,
  { message }: Located,
  by: string,
): Promise<AddedMemory> {
  const name = `thread-${suffixOf(root).toLowerCase().slice(0, MAX_DIGITS)}`;
  const all = await readMemories(context, { bodies: false });
  const at = context.now();
  const memory: Memory = {
    from: message.from,
    timestamp: at.toISOString(),
    subject: `Summary of the thread of ${root}`,
    scope: channel,
    supersedes: withNamed(all, [], { name, scope: channel }),
    alias: [],
    name,
    kind: 'archive',
    changedBy: by,
    covers: covered.map(({ relPath }) => `${channel}/${relPath}`),
    extra: {},
    body: message.body,
  };
  return writeMemory(context, memory, { at, by, allowSecret: false });
}
