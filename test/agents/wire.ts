import type { Api, ModelRequest } from './model-request.ts';

/** What the model does next: it answers, calls a tool, or the server refuses. */
export type Turn =
  | { say: string; used?: Used }
  | { tool: string; namespace?: string; arguments: Record<string, unknown>; used?: Used }
  | { status: number; headers?: Record<string, string>; body: unknown };

/** The tokens that a request is said to have used: `input` without what was cached. */
export interface Used {
  input: number;
  cached: number;
  output: number;
}

const LITTLE: Used = { input: 1, cached: 0, output: 1 };

/** A complete HTTP answer. */
export interface Wired {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** One event of a stream: its name (where the API names them) and its data. */
type StreamEvent = [name: string | undefined, data: unknown];

/** Converts a turn into the format of the requested API. */
export function wire(request: ModelRequest, turn: Turn, id: string): Wired {
  if ('status' in turn) {
    const headers = { 'content-type': 'application/json', ...turn.headers };
    return { status: turn.status, headers, body: JSON.stringify(turn.body) };
  }
  const { whole, events, end } = SPEAKERS[request.api](turn, id);
  if (!request.stream)
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(whole),
    };
  const frames = events.map(
    ([name, data]) =>
      `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`,
  );
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body: frames.join('') + end,
  };
}

type Said = Extract<Turn, { say: string } | { tool: string }>;
interface Spoken {
  /** The answer if no stream was requested. */
  whole: unknown;
  events: StreamEvent[];
  /** The end of the stream. */
  end: string;
}

const SPEAKERS: Record<Api, (turn: Said, id: string) => Spoken> = {
  anthropic,
  responses,
  chat,
  gemini,
};

function anthropic(turn: Said, id: string): Spoken {
  const { used = LITTLE } = turn;
  const isText = 'say' in turn;
  const block = isText
    ? { type: 'text', text: turn.say }
    : { type: 'tool_use', id: `toolu_${id}`, name: turn.tool, input: turn.arguments };
  const stop = isText ? 'end_turn' : 'tool_use';
  const message = {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: 'fake',
    stop_sequence: null,
    usage: {
      input_tokens: used.input,
      cache_read_input_tokens: used.cached,
      cache_creation_input_tokens: 0,
      output_tokens: used.output,
    },
  };
  const delta = isText
    ? { type: 'text_delta', text: turn.say }
    : { type: 'input_json_delta', partial_json: JSON.stringify(turn.arguments) };
  const empty = isText ? { ...block, text: '' } : { ...block, input: {} };
  const events: Record<string, unknown>[] = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: empty },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: used.output },
    },
    { type: 'message_stop' },
  ];
  return {
    whole: { ...message, content: [block], stop_reason: stop },
    events: events.map((event) => [event['type'] as string, event]),
    end: '',
  };
}

function responses(turn: Said, id: string): Spoken {
  const { used = LITTLE } = turn;
  const input = used.input + used.cached;
  const item =
    'say' in turn
      ? {
          type: 'message',
          id: `msg_${id}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: turn.say, annotations: [] }],
        }
      : {
          type: 'function_call',
          id: `fc_${id}`,
          call_id: `call_${id}`,
          status: 'completed',
          name: turn.tool,
          ...(turn.namespace !== undefined && { namespace: turn.namespace }),
          arguments: JSON.stringify(turn.arguments),
        };
  const response = { id: `resp_${id}`, object: 'response', model: 'fake', created_at: 0 };
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: used.cached },
    output_tokens: used.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + used.output,
  };
  const done = { ...response, status: 'completed', output: [item], usage };
  const events: Record<string, unknown>[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: done },
  ];
  return {
    whole: done,
    events: events.map((event) => [event['type'] as string, event]),
    end: '',
  };
}

function chat(turn: Said, id: string): Spoken {
  const { used = LITTLE } = turn;
  const input = used.input + used.cached;
  const call = (index?: number): Record<string, unknown> =>
    'say' in turn
      ? { content: turn.say }
      : {
          content: null,
          tool_calls: [
            {
              ...(index === undefined ? {} : { index }),
              id: `call_${id}`,
              type: 'function',
              function: { name: turn.tool, arguments: JSON.stringify(turn.arguments) },
            },
          ],
        };
  const finish = 'say' in turn ? 'stop' : 'tool_calls';
  const base = { id: `chatcmpl-${id}`, created: 0, model: 'fake' };
  const usage = {
    prompt_tokens: input,
    completion_tokens: used.output,
    total_tokens: input + used.output,
    prompt_tokens_details: { cached_tokens: used.cached },
  };
  const chunk = (
    delta: Record<string, unknown>,
    finish_reason: string | null,
  ): Record<string, unknown> => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  return {
    whole: {
      ...base,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', ...call() }, finish_reason: finish }],
      usage,
    },
    events: [
      [undefined, chunk({ role: 'assistant', ...call(0) }, null)],
      [undefined, { ...chunk({}, finish), usage }],
    ],
    end: 'data: [DONE]\n\n',
  };
}

function gemini(turn: Said): Spoken {
  const { used = LITTLE } = turn;
  const input = used.input + used.cached;
  const part =
    'say' in turn
      ? { text: turn.say }
      : { functionCall: { name: turn.tool, args: turn.arguments } };
  const whole = {
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: input,
      cachedContentTokenCount: used.cached,
      candidatesTokenCount: used.output,
      totalTokenCount: input + used.output,
    },
    modelVersion: 'fake',
  };
  return { whole, events: [[undefined, whole]], end: '' };
}
