import {
  messageJson,
  readMessageJson,
  repliedJson,
  sentJson,
} from '../../actions/shapes/as-json.ts';
import { shownMessage } from '../../actions/reading/read.ts';
import { send } from '../../actions/sending/send.ts';
import { steer, WHAT_HAPPENS } from '../../actions/sending/steer.ts';
import {
  defined,
  shapes,
  tool,
  verifiedOutput,
  type Tool,
  type ToolCall,
  type Z,
  awaitReplies,
} from '../kit/tool.ts';
import { markedMessage } from '../kit/untrusted.ts';
import type { Replied } from '../../actions/reading/replies.ts';
import { reasonsOf } from '../../present/replies.ts';
import { TIER } from '../../present/parameters.ts';

/** The default wait in seconds; most clients limit a call to a minute. */
export const DEFAULT_WAIT_S = 45;
const LONGEST_WAIT_S = 3600;
const MOST_MESSAGES = 50;

/** Returns the inputs that all tools that send or wait share. */
export function sharedInput(z: Z) {
  return {
    channel: z
      .string()
      .optional()
      .describe('name or id; needed only where there are several (see channels)'),
    tier: z.string().optional().describe(TIER),
    timeout: z
      .number()
      .min(0)
      .max(LONGEST_WAIT_S)
      .optional()
      .describe(`seconds (default ${String(DEFAULT_WAIT_S)}); your client may end a call after 60`),
  };
}

/** Returns the inputs of a tool that asks, for the form of the answer. */
export function schemaInput(z: Z) {
  return z
    .looseObject({})
    .optional()
    .describe('a JSON Schema of at most 16 KiB: the answer is then JSON that fits it');
}

/** Returns the input of a tool that asks, for a name that several machines serve. */
export function oneInput(z: Z) {
  return z.boolean().optional().describe('of all machines that serve the name, one takes it');
}

/** Returns the tools that send messages, wait for their answers and read them. */
export function messageTools(z: Z): Tool[] {
  const { result, message, marked, sent } = shapes(z);
  const { channel, tier, timeout } = sharedInput(z);
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
        state: z.enum(['PENDING', 'REPLIED', 'FAILED']),
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
        channel,
        tier,
        new: z
          .boolean()
          .optional()
          .describe('inside a dispatch: unrelated to what is being processed'),
        anyway: z
          .boolean()
          .optional()
          .describe('inside a dispatch: send it although no host serves the name, where it waits'),
        options: z
          .array(z.string())
          .optional()
          .describe('answers to choose from, at most 20, each one line; people choose by number'),
        schema: schemaInput(z),
        one: oneInput(z),
        now: z
          .boolean()
          .optional()
          .describe('say more about your open question while the actor works on it, if it can be'),
        about: z
          .string()
          .min(1)
          .optional()
          .describe('with now: which question, if several of yours are open'),
      }),
      output: sent,
      hints: {},
      run: async (
        { to, body, channel, tier, new: isNew, anyway, options, schema, one, now: isNow, about },
        call,
      ) => {
        const { surroundings, note, open } = call;
        const { transport, login } = surroundings;
        const input = {
          to,
          body,
          ...defined({ channel, tier, from: surroundings.from, options, anyway }),
          ...(one === true && { one }),
          ...(schema && { schema: JSON.stringify(schema) }),
          isNew: isNew ?? false,
          wait: true,
          login,
        };
        if (isNow === true || about !== undefined)
          return open(async (context) => {
            const sent = await steer(context, { ...input, ...defined({ about }) });
            note(WHAT_HAPPENS);
            return sentJson(sent);
          });
        return sentJson(await send({ surroundings, transport, note, open, hands: 'whole' }, input));
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
        'Wait until messages are answered and return the answers. Use it after send. A reply marked interim is a word on the way to the answer, and FAILED means that none will come: tell the operator why. An agent may need minutes: if "complete" is false when the time is over, nothing is wrong; call wait again, for up to ten minutes, then look at status and dlq_list. Cancelling the call ends the waiting only, not the work.',
      input: z.strictObject({
        messages,
        any: z.boolean().optional().describe('return when the first is answered, not when all are'),
        timeout,
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
        verified: verifiedOutput(z),
        to: z.array(z.string()),
        timestamp: z.string(),
        re: z.array(z.string()),
        cause: z.array(z.string()),
        queued: z.boolean().describe('in the outbox here, not on the remote yet'),
        files: z
          .array(
            z.looseObject({
              name: marked,
              sha256: z.string(),
              bytes: z.number(),
              type: z.string(),
            }),
          )
          .optional()
          .describe('files that it brings along; crosstalk read --files takes them out'),
        body: marked,
        options: z
          .array(marked)
          .optional()
          .describe('answers that it offers, to choose with reply'),
      }),
      hints: { reads: true },
      run: ({ message: wanted, offset = 0 }, { open, marks }) =>
        open(async (context) => {
          const read = readMessageJson(await shownMessage(context, wanted));
          return markedMessage(marks, read, offset);
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
    const { ending, found } = await awaitReplies(context, messages, call, waiting);
    const complete = ending === 'complete';
    if (!complete) for (const line of found.flatMap(reasonsOf)) call.note(line);
    if (ending === 'timed_out' && waiting !== undefined)
      call.note(`no answer within ${String(waiting.timeout)} s; call wait again to go on waiting`);
    return {
      complete,
      messages: found.map((one) => repliedIn(one, call)),
    };
  });
}

/** Returns a message and its answers, whose texts are marked as those of others. */
function repliedIn(one: Replied, { marks }: Pick<ToolCall, 'marks'>): object {
  return {
    ...repliedJson(one),
    replies: one.replies.map((reply) => markedMessage(marks, messageJson(reply))),
  };
}
