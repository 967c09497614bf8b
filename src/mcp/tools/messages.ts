import {
  messageJson,
  readMessageJson,
  repliedJson,
  sentJson,
} from '../../operations/shapes/as-json.ts';
import { readMessage } from '../../operations/reading/read.ts';
import { send } from '../../operations/sending/send.ts';
import { defined, shapes, tool, type Tool, type ToolCall, type Z } from '../kit/tool.ts';
import { awaitReplies } from '../kit/waiting.ts';

/** The default wait in seconds; most clients limit a call to a minute. */
const DEFAULT_WAIT_S = 45;
const LONGEST_WAIT_S = 3600;
const MOST_MESSAGES = 50;

/** The tools that send messages, wait for their answers and read them. */
export function messageTools(z: Z): Tool[] {
  const { result, message, marked } = shapes(z);
  const messages = z
    .array(z.string().min(1))
    .min(1)
    .max(MOST_MESSAGES)
    .describe('relPaths that send returned, or their unique hex suffixes');
  const replied = result({
    complete: z.boolean().describe('whether there are as many answers as were waited for'),
    messages: z.array(
      z.looseObject({
        channel: z.string(),
        message: z.string(),
        state: z.enum(['PENDING', 'REPLIED']),
        replies: z.array(message),
      }),
    ),
  });
  return [
    tool({
      name: 'send',
      title: 'Send a message',
      description:
        'Send a message to an actor of the bus: an agent that runs on this or another machine, such as "concierge" (the tool actors lists them). Use it to ask or to delegate. It returns at once with the name of the message; then call wait with that name to get the answer. Status "queued" means that it is safe here and not on the remote yet: tell the operator why.',
      input: z.strictObject({
        to: z.string().min(1).describe('actor, or actor@host; several are separated by commas'),
        body: z.string().min(1).describe('what you say, as markdown'),
        channel: z
          .string()
          .optional()
          .describe('name or id; needed only where there are several (see channels)'),
        tier: z.string().optional().describe('the model tier asked for, such as small or large'),
        new: z
          .boolean()
          .optional()
          .describe('inside a dispatch: unrelated to what is being processed'),
      }),
      output: result({
        channel: z.string(),
        from: z.string(),
        status: z.enum(['sent', 'queued']),
        reason: z.string().nullable(),
        messages: z.array(
          z.looseObject({
            relPath: z.string().describe('name of the message, for wait, replies and thread'),
            to: z.array(z.string()),
            re: z.array(z.string()),
            cause: z.array(z.string()),
          }),
        ),
      }),
      hints: {},
      run: async ({ to, body, channel, tier, new: isNew }, call) => {
        const { surroundings, note, open } = call;
        const { transport, login } = surroundings;
        const sent = await send(
          { surroundings, transport, note, open, hands: 'whole' },
          {
            to,
            body,
            ...defined({ channel, tier, from: surroundings.from }),
            isNew: isNew ?? false,
            wait: true,
            login,
          },
        );
        return sentJson(sent);
      },
    }),
    tool({
      name: 'replies',
      title: 'Look for replies',
      description:
        'See at once whether messages were answered, and by what. Use it to look again at something asked earlier; to wait for an answer use wait.',
      input: z.strictObject({ messages }),
      output: replied,
      hints: { reads: true },
      run: (input, call) => look(input.messages, call),
    }),
    tool({
      name: 'wait',
      title: 'Wait for answers',
      description:
        'Wait until messages are answered and return the answers. Use it after send. An agent may need minutes: if "complete" is false when the time is over, nothing is wrong; call wait again, for up to ten minutes, then look at status and dlq_list. Cancelling the call ends the waiting only, not the work.',
      input: z.strictObject({
        messages,
        any: z.boolean().optional().describe('return when the first is answered, not when all are'),
        timeout: z
          .number()
          .min(0)
          .max(LONGEST_WAIT_S)
          .optional()
          .describe(
            `seconds (default ${String(DEFAULT_WAIT_S)}); your client may end a call after 60`,
          ),
      }),
      output: replied,
      hints: { reads: true },
      run: ({ any, timeout = DEFAULT_WAIT_S, ...input }, call) =>
        look(input.messages, call, { wait: any === true ? 'any' : 'all', timeout }),
    }),
    tool({
      name: 'read',
      title: 'Read one message',
      description:
        'Read one message whole. Use it for a message that a search, a thread or a channel shows the beginning of, and to go on where a text was cut.',
      input: z.strictObject({
        message: z.string().min(1).describe('relPath, <channel>/<relPath>, or unique hex suffix'),
        offset: z.number().int().min(0).optional().describe('characters to leave out at the start'),
      }),
      output: result({
        channel: z.string(),
        channel_name: z.string(),
        relPath: z.string(),
        from: z.string(),
        to: z.array(z.string()),
        timestamp: z.string(),
        re: z.array(z.string()),
        cause: z.array(z.string()),
        queued: z.boolean().describe('in the outbox here, not on the remote yet'),
        body: marked,
      }),
      hints: { reads: true },
      run: ({ message: wanted, offset = 0 }, { open, marks }) =>
        open(async (context) => {
          const read = readMessageJson(await readMessage(context, wanted));
          const more = (at: number): string => readOn(read.relPath, at);
          return { ...read, body: marks.mark(read.body, read.from, more, offset) };
        }),
    }),
  ];
}

async function look(
  messages: string[],
  call: ToolCall,
  waiting?: { wait: 'all' | 'any'; timeout: number },
): Promise<object> {
  return call.open(async (context) => {
    const { complete, found } = await awaitReplies(context, messages, call, waiting);
    if (!complete && waiting !== undefined)
      call.note(`no answer within ${String(waiting.timeout)} s; call wait again to go on waiting`);
    return {
      complete,
      messages: found.map((one) => ({
        ...repliedJson(one),
        replies: one.replies.map((reply) => {
          const json = messageJson(reply);
          const more = (at: number): string => readOn(json.relPath, at);
          return { ...json, body: call.marks.mark(json.body, json.from, more) };
        }),
      })),
    };
  });
}

/** How a caller can continue to read where a text was cut. */
export function readOn(relPath: string, offset: number): string {
  return `read with ${JSON.stringify({ message: relPath, offset })}`;
}
