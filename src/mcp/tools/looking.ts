import { channelJson } from '../../actions/shapes/as-json.ts';
import { listActors } from '../../actions/setup/actors.ts';
import { listChannels } from '../../actions/reading/channels.ts';
import { search } from '../../actions/reading/search.ts';
import { status } from '../../actions/health/status.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { thread } from '../../actions/tracing/thread.ts';
import { CrosstalkError } from '../../errors.ts';
import { shown } from '../../protocol/text/result.ts';
import { inWords, presentAll } from '../../present/state.ts';
import { parseSince } from '../../protocol/text/times.ts';
import {
  defined,
  shapes,
  tool,
  verifiedOutput,
  wholeInput,
  type Tool,
  type ToolCall,
  type Z,
} from '../kit/tool.ts';
import type { WebThreadNode } from '../../api/api.ts';
import { SEARCH } from '../../present/parameters.ts';

/** The most messages of a thread in one result. */
const MOST_NODES = 100;

/** Returns the tools that read from the bus and change nothing. */
export function lookingTools(z: Z): Tool[] {
  const { result, marked } = shapes(z);
  const channel = z.string().optional().describe('only this channel: name or id');
  return [
    tool({
      name: 'thread',
      title: 'Show a thread',
      description:
        'Show who asked whom around a message, what was answered, and what is still open and where: waiting, running, failed. Use it to find out why an answer does not come.',
      input: z.strictObject({
        message: z.string().min(1).describe('relPath, <channel>/<relPath>, or unique hex suffix'),
      }),
      output: result({
        channel: z.string(),
        channel_name: z.string(),
        message: z.string(),
        complete: z.boolean().describe('false when only a part of the thread is here'),
        roots: z.array(z.unknown()).describe('messages, each with its states and its children'),
      }),
      hints: { reads: true },
      run: ({ message }, { open, marks, note, surroundings }) =>
        open(async (context) => {
          const { roots, complete, ...facts } = await thread(context, message);
          const { kept, cut } = prune(roots, MOST_NODES);
          if (cut > 0)
            note(`the thread has ${String(cut)} more messages; see: crosstalk thread ${message}`);
          const { from: me, login } = surroundings;
          const reader = { me: resolveFrom(context, me, login) };
          const node = ({ children, states, ...one }: WebThreadNode): object => ({
            ...one,
            states: presentAll(states, reader).map((shown, at) => ({
              ...states[at],
              words: inWords(shown),
            })),
            excerpt: marks.mark(one.excerpt, one.from),
            children: children.map(node),
          });
          return { ...facts, complete: complete && cut === 0, roots: kept.map(node) };
        }),
    }),
    tool({
      name: 'search',
      title: 'Search messages',
      description:
        'Find messages by words, "phrases" in quotes and beginnings*, best first. Use it before asking something that may have been answered already, and to find a message somebody speaks of. Then read or thread shows a hit whole.',
      input: z.strictObject({
        words: z.string().min(1),
        channel,
        from: z.string().optional().describe(SEARCH.from),
        since: z.string().optional().describe(SEARCH.since),
        limit: wholeInput(z, SEARCH.limit),
        skip: wholeInput(z, SEARCH.skip),
        context: wholeInput(z, SEARCH.context),
      }),
      output: result({
        hits: z.array(
          z.looseObject({
            channel: z.string(),
            relPath: z.string(),
            score: z.number(),
            from: z.string(),
            verified: verifiedOutput(z),
            excerpt: marked,
          }),
        ),
        more: z.boolean().describe('further messages match: ask again with skip'),
        some_words: z.boolean().describe('no message has all the words; these have some'),
        capped: z.boolean(),
        complete: z.boolean().describe('false while the index is built: old messages are missing'),
      }),
      hints: { reads: true },
      run: ({ words, since, limit = SEARCH.limit.most, context: around = 0, ...filters }, call) =>
        call.open(async (context) => {
          const found = await search(context, {
            words,
            limit,
            context: around,
            ...defined(filters),
            ...sinceOf(since, context.now()),
          });
          const { marks } = call;
          const hits = found.hits.map((hit) => ({
            ...hit,
            excerpt: marks.mark(hit.excerpt, hit.from),
            context: hit.context.map((one) => ({
              ...one,
              excerpt: marks.mark(one.excerpt, one.from),
            })),
          }));
          return { ...found, hits };
        }),
    }),
    tool({
      name: 'status',
      title: 'Status of the bus',
      description:
        'Whether all is well here: health with its problems first, then this machine’s host, actors, channels, outbox and dead letters. Use it when an answer does not come, and when the operator asks how things are.',
      input: z.strictObject({}),
      output: result({
        health: z.looseObject({ ok: z.boolean(), problems: z.array(z.string()) }),
        transport: z.string(),
        dispatcher: z.unknown().describe('null when none runs on this machine'),
        channels: z.array(z.unknown()),
        outbox: z.array(z.unknown()).describe('what is not on the remote yet'),
        dead_letters: z.array(z.unknown()),
      }),
      hints: { reads: true },
      run: (_, { open }) => open((context) => status(context, undefined)),
    }),
    tool({
      name: 'channels',
      title: 'List channels',
      description:
        'The channels: how many messages each has, when the last one was written, and how many are unread. Use it to choose where to send or what to search. With several channels and none named, show them and ask; never invent one.',
      input: z.strictObject({}),
      output: result({
        channels: z.array(
          z.looseObject({
            id: z.string(),
            name: z.string(),
            messages: z.number(),
            last: z.string().nullable(),
            unread: z.number(),
            depth: z.number().describe('how many channels it is below'),
            body: marked,
          }),
        ),
      }),
      hints: { reads: true },
      run: (_, call) => channels(call),
    }),
    tool({
      name: 'actors',
      title: 'List actors',
      description:
        'The actors that can be sent to, what each is for, and the hosts and tiers that run it. Use it before send when you do not know whom to ask.',
      input: z.strictObject({}),
      output: result({
        actors: z.array(
          z.looseObject({ name: z.string(), description: z.string(), hosts: z.array(z.unknown()) }),
        ),
      }),
      hints: { reads: true },
      run: (_, { open }) => open(async (context) => ({ actors: await listActors(context) })),
    }),
  ];
}

function channels({ open, marks, surroundings }: ToolCall): Promise<object> {
  return open(async (context) => {
    const name = resolveFrom(context, surroundings.from, surroundings.login);
    const listed = await listChannels(context, name);
    return {
      channels: listed.map((one) => ({
        ...channelJson(one),
        body: marks.mark(one.body, one.createdBy ?? 'unknown'),
      })),
    };
  });
}

/** Returns the first messages of some trees, level by level, and the number of those left out. */
function prune(
  roots: readonly WebThreadNode[],
  most: number,
): { kept: WebThreadNode[]; cut: number } {
  const keep = new Set<WebThreadNode>();
  let total = 0;
  for (let level = [...roots]; level.length > 0;) {
    total += level.length;
    for (const node of level) if (keep.size < most) keep.add(node);
    level = level.flatMap(({ children }) => children);
  }
  const within = (nodes: readonly WebThreadNode[]): WebThreadNode[] =>
    nodes
      .filter((node) => keep.has(node))
      .map((node) => ({ ...node, children: within(node.children) }));
  return { kept: within(roots), cut: total - keep.size };
}

export function sinceOf(given: string | undefined, now: Date): { since?: Date } {
  if (given === undefined) return {};
  const since = parseSince(given, now);
  if (since !== undefined) return { since };
  throw new CrosstalkError(
    'usage',
    `since is ${shown(given)}, expected a date, a date and time, today, or how long ago, such as 2h`,
  );
}
