/** The four APIs with which agent CLIs talk to a model. */
export type Api = 'anthropic' | 'responses' | 'chat' | 'gemini';

/** The request of a CLI to the model, in the same form for all four APIs. */
export interface ModelRequest {
  api: Api;
  path: string;
  /** All text of the user's side, including the CLI's own reminders. */
  prompt: string;
  /** The results of the tools called so far in this run, oldest first. */
  results: string[];
  /** The names of the available tools. */
  tools: string[];
  stream: boolean;
  body: unknown;
}

/** The API to which a path belongs; undefined for other requests (telemetry, update checks). */
export function apiOf(method: string, path: string): Api | undefined {
  if (method !== 'POST') return undefined;
  if (path.endsWith('/messages')) return 'anthropic';
  if (path.endsWith('/responses')) return 'responses';
  if (path.endsWith('/chat/completions')) return 'chat';
  return /:(streamG|g)enerateContent$/.test(path) ? 'gemini' : undefined;
}

/** Parses a request body; missing or unexpected parts count as empty. */
export function readRequest(api: Api, path: string, body: unknown): ModelRequest {
  const readers = { anthropic, responses, chat, gemini };
  return { api, path, body, ...readers[api](body, path) };
}

type Read = Pick<ModelRequest, 'prompt' | 'results' | 'tools' | 'stream'>;

function anthropic(body: unknown): Read {
  const blocks = list(body, 'messages')
    .filter((message) => text(message, 'role') === 'user')
    .flatMap((message) => pieces(message, 'content'));
  return {
    prompt: joined(blocks.filter((block) => text(block, 'type') === 'text')),
    results: blocks
      .filter((block) => text(block, 'type') === 'tool_result')
      .map((block) => joined(pieces(block, 'content'))),
    tools: list(body, 'tools').map((tool) => text(tool, 'name')),
    stream: field(body, 'stream') === true,
  };
}

function responses(body: unknown): Read {
  const input = pieces(body, 'input');
  return {
    prompt: input
      .filter((item) => text(item, 'role') === 'user')
      .map((item) => joined(pieces(item, 'content')))
      .join('\n'),
    results: input
      .filter((item) => text(item, 'type').endsWith('_call_output'))
      .map((item) => joined(pieces(item, 'output'))),
    tools: list(body, 'tools').map((tool) => text(tool, 'name') || text(tool, 'type')),
    stream: field(body, 'stream') === true,
  };
}

function chat(body: unknown): Read {
  const said = (role: string): string[] =>
    list(body, 'messages')
      .filter((message) => text(message, 'role') === role)
      .map((message) => joined(pieces(message, 'content')));
  return {
    prompt: said('user').join('\n'),
    results: said('tool'),
    tools: list(body, 'tools').map((tool) => text(field(tool, 'function'), 'name')),
    stream: field(body, 'stream') === true,
  };
}

function gemini(body: unknown, path: string): Read {
  const parts = list(body, 'contents')
    .filter((content) => text(content, 'role') !== 'model')
    .flatMap((content) => list(content, 'parts'));
  return {
    prompt: joined(parts),
    results: parts
      .map((part) => field(part, 'functionResponse'))
      .filter((response) => response !== undefined)
      .map((response) => JSON.stringify(field(response, 'response'))),
    tools: list(body, 'tools')
      .flatMap((tool) => list(tool, 'functionDeclarations'))
      .map((declared) => text(declared, 'name')),
    stream: path.includes(':streamGenerateContent'),
  };
}

function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function text(value: unknown, key: string): string {
  const found = field(value, key);
  return typeof found === 'string' ? found : '';
}

function list(value: unknown, key: string): unknown[] {
  const found = field(value, key);
  return Array.isArray(found) ? found : [];
}

/** A list of blocks; a string counts as a single block of text. */
function pieces(value: unknown, key: string): unknown[] {
  const found = field(value, key);
  return typeof found === 'string' ? [{ type: 'text', text: found }] : list(value, key);
}

function joined(blocks: readonly unknown[]): string {
  return blocks.map((block) => text(block, 'text')).join('\n');
}
