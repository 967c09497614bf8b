import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { inbox } from '../../actions/reading/inbox.ts';
import { cancel } from '../../actions/sending/cancel.ts';
import { reply } from '../../actions/sending/reply.ts';
import { inboxJson, sentJson } from '../../actions/shapes/as-json.ts';
import { markedMessage } from '../kit/untrusted.ts';
import { defined, shapes, tool, type Tool, type Z } from '../kit/tool.ts';
import { sharedInput } from './messages.ts';
import { CANCEL, INBOX, REPLY } from '../../present/parameters.ts';

const DEFAULT_LIMIT = 20;
const MOST = 50;

/** Returns the tools that answer messages and list the mail. */
export function talkingTools(z: Z): Tool[] {
  const { result, message, sent } = shapes(z);
  return [
    tool({
      name: 'reply',
      title: 'Reply to a message',
      description:
        'Answer a message, or ask further about an answer: it goes to the writer, who wakes with the whole thread. Use it instead of send when you talk about a message that is there. After it, call wait with the name of the reply when you asked something.',
      input: z.strictObject({
        message: z.string().min(1).describe('relPath, <channel>/<relPath>, or unique hex suffix'),
        body: z.string().optional().describe('what you say, as markdown'),
        option: z.number().int().min(1).optional().describe(REPLY.option),
        again: z.boolean().optional().describe(REPLY.again),
        tier: sharedInput(z).tier,
      }),
      output: sent,
      hints: {},
      run: ({ message: wanted, body = '', option, again, tier }, { surroundings, open }) =>
        open(async (context) => {
          const input = {
            message: wanted,
            body,
            ...defined({ tier, from: surroundings.from, option: option?.toString() }),
            isNew: false,
            wait: true,
            login: surroundings.login,
          };
          return sentJson(await reply(context, input, { isMeantAgain: () => again === true }));
        }),
    }),
    tool({
      name: 'cancel',
      title: 'Cancel a message',
      description:
        'Take back a message that you sent: whatever waits or runs for it is ended on every host, and the tasks that were given to others for it too. Use it when an answer is not needed any more. What was finished before is not taken back.',
      input: z.strictObject({
        message: z.string().min(1).describe('relPath, <channel>/<relPath>, or unique hex suffix'),
        reason: z.string().optional().describe(CANCEL.reason),
        only: z.boolean().optional().describe(CANCEL.only),
      }),
      output: sent,
      hints: { idempotent: true },
      run: ({ message: wanted, reason, only = false }, { surroundings, open }) =>
        open(async (context) => {
          const input = {
            ...{ message: wanted, reason, only, wait: true, login: surroundings.login },
            ...defined({ from: surroundings.from }),
          };
          return sentJson(await cancel(context, input));
        }),
    }),
    tool({
      name: 'inbox',
      title: 'What came',
      description:
        'What came for somebody, unread first, and what asks them something that they have not answered. Use it when the operator asks what is new or who waits for them: give their name.',
      input: z.strictObject({
        name: z.string().min(1).optional().describe('for whom (default: the name you write as)'),
        questions: z.boolean().optional().describe(INBOX.questions),
        limit: z.number().int().min(1).max(MOST).optional(),
      }),
      output: result({
        name: z.string(),
        unread: z.number(),
        questions: z.number().describe('how many messages ask something'),
        messages: z.array(
          message.extend({
            channel: z.string(),
            channel_name: z.string(),
            unread: z.boolean(),
            waits_for_you: z.boolean().describe('whether it asks something unanswered'),
          }),
        ),
      }),
      hints: { reads: true },
      run: (
        { name: given, questions = false, limit = DEFAULT_LIMIT },
        { surroundings, open, marks, signal },
      ) =>
        open(async (context) => {
          const name = resolveFrom(context, given ?? surroundings.from, surroundings.login);
          const found = await inbox(context, { name, questions, limit }, signal);
          const messages = found.entries.map((entry) => markedMessage(marks, inboxJson(entry)));
          return { name, unread: found.unread, questions: found.questions, messages };
        }),
    }),
  ];
}
