import { CrosstalkError } from '../../errors.ts';
import { ask, type Asked } from '../../actions/sending/ask.ts';
import type { Context } from '../../actions/context.ts';
import { messageJson } from '../../actions/shapes/as-json.ts';
import { isAnswer } from '../../protocol/owed.ts';
import { defined, shapes, tool, type Tool, type Z, reporting } from '../kit/tool.ts';
import { markedMessage } from '../kit/untrusted.ts';
import { DEFAULT_WAIT_S, oneInput, schemaInput, sharedInput } from './messages.ts';
import { reasonsOf } from '../../present/replies.ts';
import { queuedLine } from '../../present/state.ts';

/** Returns the tool that asks a question and waits for its answer. */
export function askingTools(z: Z): Tool[] {
  const { result, message } = shapes(z);
  return [
    tool({
      name: 'ask',
      title: 'Ask and wait for the answer',
      description:
        'Send a question to an actor and wait for its answer: send and wait in one call. If "answer" is null when the time is over, nothing is wrong: call wait with "message". If state is FAILED, no answer will come: tell the operator why, as notes say. Several are asked at once as "tester,helper": it waits for all of them.',
      input: z.strictObject({
        to: z.string().min(1).describe('actor, or actor@host; several are separated by commas'),
        body: z.string().min(1).describe('the question, as markdown'),
        ...sharedInput(z),
        schema: schemaInput(z),
        one: oneInput(z),
      }),
      output: result({
        channel: z.string(),
        message: z.string().describe('name of the question, for wait, replies and thread'),
        state: z.enum(['PENDING', 'REPLIED', 'FAILED']),
        answer: message.nullable(),
        others: z.array(message).optional().describe('where several were asked: later answers'),
        interim: z.array(message).describe('words on the way to the answer'),
      }),
      hints: {},
      run: async ({ to, body, channel, tier, schema, one, timeout = DEFAULT_WAIT_S }, call) => {
        const { surroundings, note, signal, progress, marks } = call;
        const { transport, login, agentMode } = surroundings;
        if (agentMode !== undefined)
          throw new CrosstalkError(
            'usage',
            'not for a run, which would wait for ever: send, and end; you are woken by the answer',
          );
        const input = {
          to,
          body,
          ...defined({ channel, tier, from: surroundings.from }),
          ...(one === true && { one }),
          ...(schema && { schema: JSON.stringify(schema) }),
          isNew: false,
          wait: true,
          login,
        };
        const open = <T>(work: (context: Context) => Promise<T>): Promise<T> =>
          call.open((context) =>
            reporting(context, { progress, timeout, whom: to }, () => work(context)),
          );
        const asked = await ask(
          { surroundings, transport, note, open, hands: 'whole' },
          input,
          { timeout: timeout * 1000, signal },
          { heldUp: note },
        );
        tell(asked, note);
        const { ref, replies, state } = asked.question;
        const shown = replies.map((reply) => ({
          reply,
          json: markedMessage(marks, messageJson(reply)),
        }));
        const [answer, ...others] = shown.filter(({ reply }) => isAnswer(reply.message));
        return {
          channel: ref.channel,
          message: ref.relPath,
          state,
          answer: answer?.json ?? null,
          ...(others.length > 0 && { others: others.map(({ json }) => json) }),
          interim: shown.flatMap(({ reply, json }) => (reply.message.interim ? [json] : [])),
        };
      },
    }),
  ];
}

/** Returns the facts that the caller has to know beside the answer. */
function tell({ sent, ending, question }: Asked, note: (line: string) => void): void {
  if (!sent.delivered.published) note(queuedLine(sent.delivered.reason));
  if (ending === 'timed_out') note('no answer yet; call wait with message to go on waiting');
  for (const line of reasonsOf(question)) note(line);
}
