import type { Writable } from 'node:stream';
import type { AnyMessage, ClientConnection } from '@agentclientprotocol/sdk';
import type * as packages from './acp-packages.ts';
import type { AcpSession } from '../runner.ts';

/** The failure of a request to an agent, with the reason in its words or in ours. */
export class AgentFailed extends Error {
  override name = 'AgentFailed';
}

/** Decides whether a tool may be used; `cancelled` once the prompt is. */
type Permit = (call: unknown, gone: AbortSignal) => Promise<boolean | 'cancelled'>;

/** Name of a request, an extension that the adapters of claude and codex offer. */
const STEERING = '_session/steering';

interface Option {
  optionId: string;
  kind: string;
}

/**
 * The client's side of the Agent Client Protocol (version 1). It offers the agent neither files nor
 * terminals: the agent reads, writes and starts everything itself, in its own process group and sandbox.
 */
export class Connection {
  readonly #agent: ClientConnection['agent'];
  readonly #methods: typeof packages.methods;
  readonly #close: () => void;
  readonly #calls: ToolCalls;
  readonly #spoken: { isThere: boolean };
  #session = '';
  #steers = false;

  private constructor(
    agent: ClientConnection['agent'],
    methods: typeof packages.methods,
    close: () => void,
    calls: ToolCalls,
    spoken: { isThere: boolean },
  ) {
    this.#calls = calls;
    this.#spoken = spoken;
    this.#agent = agent;
    this.#methods = methods;
    this.#close = close;
  }

  /**
   * Initializes an agent and opens a session.
   *
   * @param stdin for messages to the agent
   * @param incoming receives the function that takes the agent's messages, which returns a reason once it takes no more
   * @param permit called for each tool that the agent requests
   * @throws AgentFailed with the agent's reason
   */
  static async open(
    stdin: Writable,
    incoming: (take: (message: Record<string, unknown>) => string | undefined) => void,
    permit: Permit,
    { cwd, acp }: { cwd: string; acp: AcpSession },
  ): Promise<Connection> {
    const { client, methods, PROTOCOL_VERSION } = await import('./acp-packages.ts');
    const intake = new Intake();
    const calls = new ToolCalls();
    const spoken = { isThere: false };
    const readable = new ReadableStream<AnyMessage>({
      start: (controller) => {
        incoming((message) => {
          calls.hear(message);
          if (isSpoken(message)) spoken.isThere = true;
          const takes = intake.takes(message);
          if (takes === true) controller.enqueue(message as unknown as AnyMessage);
          return takes === 'too_many' ? 'it asks, and does not take the answers' : undefined;
        });
      },
    });
    const writable = new WritableStream<AnyMessage>({
      // The next message waits until this one is written, so that messages to a slow agent do not pile up here.
      write: (message) => {
        intake.sending(message);
        return new Promise((resolve) => {
          stdin.write(`${JSON.stringify(message)}\n`, () => {
            intake.sent(message);
            resolve();
          });
        });
      },
    });
    const app = client({ name: 'crosstalk' })
      .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
        const { toolCall, options } = params;
        const call = calls.whole(toolCall);
        const isAllowed = call !== undefined && (await permit(call, signal));
        const option = isAllowed === 'cancelled' ? undefined : chosen(options, isAllowed);
        return {
          outcome:
            option === undefined
              ? { outcome: 'cancelled' }
              : { outcome: 'selected', optionId: option.optionId },
        };
      })
      // Its reports about its work are read from its output.
      .onNotification('*', () => undefined);
    const connection = app.connect({ readable, writable });
    connection.closed.catch(() => undefined);
    const close = (): void => {
      connection.close();
    };
    const made = new Connection(connection.agent, methods, close, calls, spoken);
    await made.#greet(PROTOCOL_VERSION);
    await made.#begin(cwd, acp);
    return made;
  }

  /**
   * Gives the agent a prompt, and waits for the end of its turn.
   *
   * @returns the stop reason, as the protocol defines it
   * @throws AgentFailed with the agent's reason
   */
  async prompt(text: string): Promise<string> {
    this.#calls.begin();
    this.#spoken.isThere = false;
    const { prompt } = this.#methods.agent.session;
    const content = [{ type: 'text' as const, text }];
    const given = this.#agent.request<{ stopReason: string }>(prompt, {
      sessionId: this.#session,
      prompt: content,
    });
    return (await answered(given)).stopReason;
  }

  /** Whether the agent has said anything since the last prompt. */
  get hasSpoken(): boolean {
    return this.#spoken.isThere;
  }

  /** Whether the agent accepts further text during a turn; an extension of the protocol. */
  get steers(): boolean {
    return this.#steers;
  }

  /**
   * Gives the agent further text for the current turn.
   *
   * @returns `late` if there is none
   * @throws AgentFailed if it does not accept the text; it may or may not act on it then
   */
  async steer(text: string): Promise<'into' | 'late'> {
    const given = this.#agent.request<{ outcome?: unknown }>(STEERING, {
      sessionId: this.#session,
      prompt: [{ type: 'text', text }],
      // Otherwise it would start a turn whose end nobody awaits.
      _meta: { steering: { idleBehavior: 'promptRequired' } },
    });
    const { outcome } = await answered(given);
    if (outcome === 'injected') return 'into';
    if (outcome === 'promptRequired') return 'late';
    throw new AgentFailed('it answered something else to words for its turn');
  }

  /** Asks the agent to end the current turn: its prompt is answered then. */
  async cancel(): Promise<void> {
    const { cancel } = this.#methods.agent.session;
    await this.#agent.notify(cancel, { sessionId: this.#session });
  }

  /** Closes the connection; no more messages are accepted. */
  close(): void {
    this.#close();
  }

  async #greet(version: number): Promise<void> {
    const { protocolVersion, _meta } = await answered(
      this.#agent.request(this.#methods.agent.initialize, {
        protocolVersion: version,
        clientInfo: { name: 'crosstalk', version: '1' },
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      }),
    );
    if (protocolVersion !== version)
      throw new AgentFailed(
        `it speaks version ${String(protocolVersion)} of the protocol, not ${String(version)}`,
      );
    const steering = _meta?.['steering'] as { supported?: unknown } | undefined;
    this.#steers = steering?.supported === true;
  }

  async #begin(cwd: string, { servers, meta, folders, options }: AcpSession): Promise<void> {
    const { session } = this.#methods.agent;
    const opened = await answered(
      this.#agent.request(session.new, {
        cwd,
        mcpServers: servers as never[],
        ...(folders.length > 0 && { additionalDirectories: [...folders] }),
        ...(meta && { _meta: meta }),
      }),
    );
    this.#session = opened.sessionId;
    for (const [configId, value] of Object.entries(options))
      await asked(
        this.#agent.request(session.setConfigOption, {
          ...{ sessionId: this.#session, configId, value },
        }),
      );
  }
}

/** Whether a message is a part of an answer. */
function isSpoken({ method, params }: Record<string, unknown>): boolean {
  const update = (params as { update?: { sessionUpdate?: unknown } | null } | null | undefined)
    ?.update;
  return method === 'session/update' && update?.sessionUpdate === 'agent_message_chunk';
}

/** Returns the option that allows a tool once, or rejects it; options that hold for longer are never chosen. */
function chosen(options: readonly Option[], isAllowed: boolean): Option | undefined {
  const kind = isAllowed ? 'allow_once' : 'reject_once';
  return options.find((option) => option.kind === kind);
}

/** Awaits a request as {@link asked} does, if the protocol defines an object as its answer. */
async function answered<T extends object>(request: Promise<T>): Promise<T> {
  const answer: unknown = await asked(request);
  if (typeof answer === 'object' && answer !== null) return answer as T;
  throw new AgentFailed('it answered something else than the protocol has');
}

async function asked<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    const { message, data } = error as { message?: unknown; data?: { details?: unknown } };
    const details = typeof data?.details === 'string' ? data.details : undefined;
    throw new AgentFailed(details ?? (typeof message === 'string' ? message : 'it failed'));
  }
}

/** Most open requests of an agent: no agent runs so many tools at once. */
const MOST_OPEN = 1000;
/** Method by which an agent cancels a request of its own. */
const CANCEL = '$/cancel_request';

type Message = Readonly<Record<string, unknown>>;

/**
 * A filter for an agent's messages: it passes on those that need an answer or answer a request of ours. All
 * others are only read from its output: they would cost the protocol's library more than the agent, and it
 * prints messages that it does not understand, in the agent's words, on our stderr, where the log is.
 */
class Intake {
  readonly #asked = new Set<unknown>();
  #open = 0;

  /** Records a message to the agent that was written. */
  sent({ method }: Message): void {
    if (method === undefined) this.#open--;
  }

  /** Records a message to the agent that is about to be written. */
  sending({ method, id }: Message): void {
    if (method !== undefined && id !== undefined) this.#asked.add(id);
  }

  /** Whether a message is passed on; `too_many` if the agent sends requests without reading our answers. */
  takes(message: Message): boolean | 'too_many' {
    const { method } = message;
    const hasId = Object.hasOwn(message, 'id');
    if (method === undefined) return hasId && this.#asked.delete(message['id']);
    if (typeof method !== 'string') return false;
    if (!hasId) return method === CANCEL;
    return ++this.#open <= MOST_OPEN ? true : 'too_many';
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Most characters of JSON that are kept of the tool calls of a turn. */
const MOST_KEPT = 8 * 1024 * 1024;

/**
 * The reports of an agent about its tool calls in a turn. A request for permission is an update of the tool's
 * call, and fields that the update omits are those of earlier reports: a person decides on both together.
 */
export class ToolCalls {
  readonly #told = new Map<string, Fields>();
  #size = 0;
  #isWhole = true;

  /** Clears the record at the start of a turn. */
  begin(): void {
    this.#told.clear();
    this.#size = 0;
    this.#isWhole = true;
  }

  /** Records a report about a tool call, if the message is one. */
  hear({ method, params }: Fields): void {
    const { update } = fieldsIn(params);
    const { sessionUpdate, toolCallId, ...told } = fieldsIn(update);
    if (method !== 'session/update' || typeof toolCallId !== 'string') return;
    if (sessionUpdate !== 'tool_call' && sessionUpdate !== 'tool_call_update') return;
    this.#size += JSON.stringify(told).length;
    if (this.#size > MOST_KEPT) {
      this.#told.clear();
      this.#isWhole = false;
    }
    if (!this.#isWhole) return;
    this.#told.set(toolCallId, { ...this.#told.get(toolCallId), ...said(told) });
  }

  /**
   * Returns the tool call for which an agent requests permission, including its earlier reports.
   *
   * @returns undefined if the agent has reported more in this turn than was kept
   */
  whole(asked: unknown): Fields | undefined {
    const { toolCallId, ...told } = fieldsIn(asked);
    if (!this.#isWhole) return undefined;
    const before = typeof toolCallId === 'string' ? this.#told.get(toolCallId) : undefined;
    return { ...before, ...said(told) };
  }
}

/** Returns the fields with a value: a field that is null stays as it was, as the protocol defines it. */
function said(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
