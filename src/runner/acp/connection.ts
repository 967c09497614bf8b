import type { Writable } from 'node:stream';
import type { AnyMessage, ClientConnection } from '@agentclientprotocol/sdk';
import type * as packages from './acp-packages.ts';
import type { AcpSession } from '../runner.ts';

/** Why an agent did not do what it was asked for, in its own words or in ours. */
export class AgentFailed extends Error {
  override name = 'AgentFailed';
}

/** An answer to whether a tool may be used; `cancelled` once the prompt is. */
type Permit = (call: unknown, gone: AbortSignal) => Promise<boolean | 'cancelled'>;

/** The request of an extension that the adapters of claude and codex offer. */
const STEERING = '_session/steering';

interface Option {
  optionId: string;
  kind: string;
}

/**
 * The client's side of the Agent Client Protocol (version 1). It offers the agent neither files nor terminals:
 * what it reads, writes and starts, it does itself, in its own process group and sandbox.
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
   * Greets an agent and opens a session.
   *
   * @param stdin where messages to the agent go
   * @param incoming given what takes the messages of the agent, and says why it takes no more
   * @param permit asked for each tool of which the agent asks
   * @throws AgentFailed what the agent said why it does not
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
      // The next one waits until it is taken, so that what an agent does not take is not kept here.
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
      // What it tells of its work is read from its output.
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
   * @returns why it ended, as the protocol has it
   * @throws AgentFailed what the agent said why it failed
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

  /** Whether the agent takes words into a turn; an extension of the protocol. */
  get steers(): boolean {
    return this.#steers;
  }

  /**
   * Gives the agent words for the turn under way.
   *
   * @returns `late` if there is none
   * @throws AgentFailed if it does not take them; what it does with them is not known then
   */
  async steer(text: string): Promise<'into' | 'late'> {
    const given = this.#agent.request<{ outcome?: unknown }>(STEERING, {
      sessionId: this.#session,
      prompt: [{ type: 'text', text }],
      // Otherwise it would begin a turn of which nobody hears the end.
      _meta: { steering: { idleBehavior: 'promptRequired' } },
    });
    const { outcome } = await answered(given);
    if (outcome === 'injected') return 'into';
    if (outcome === 'promptRequired') return 'late';
    throw new AgentFailed('it answered something else to words for its turn');
  }

  /** Asks the agent to end the turn under way: its prompt is answered then. */
  async cancel(): Promise<void> {
    const { cancel } = this.#methods.agent.session;
    await this.#agent.notify(cancel, { sessionId: this.#session });
  }

  /** Takes nothing more. */
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

/** The option that allows a tool once, or refuses it; what would hold for longer is never chosen. */
function chosen(options: readonly Option[], isAllowed: boolean): Option | undefined {
  const kind = isAllowed ? 'allow_once' : 'reject_once';
  return options.find((option) => option.kind === kind);
}

/** As {@link asked}, where the protocol has an object for an answer. */
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

/** Requests of an agent that are open at a time: no agent has so many tools under way. */
const MOST_OPEN = 1000;
/** With this an agent takes a request of its own back. */
const CANCEL = '$/cancel_request';

type Message = Readonly<Record<string, unknown>>;

/**
 * Chooses what of an agent's messages is answered or ends a request of ours. All others are only read from its
 * output: they would cost the library of the protocol more than the agent, and it prints what it does not
 * understand on our stderr, where the log is, in the words of the agent.
 */
class Intake {
  readonly #asked = new Set<unknown>();
  #open = 0;

  /** Notes what is sent to the agent, once it has taken it. */
  sent({ method }: Message): void {
    if (method === undefined) this.#open--;
  }

  /** Notes what is about to be sent to the agent. */
  sending({ method, id }: Message): void {
    if (method !== undefined && id !== undefined) this.#asked.add(id);
  }

  /** Whether a message is one to be passed on; `too_many` where the agent asks, and takes no answers. */
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

/** Characters of JSON that are kept of the calls of a turn. */
const MOST_KEPT = 8 * 1024 * 1024;

/**
 * What an agent has told of its tools in a turn. It asks whether a tool may be used by an update of the tool's
 * call, and what the update leaves out is what the agent has told before: only both together are what a person
 * decides on.
 */
export class ToolCalls {
  readonly #told = new Map<string, Fields>();
  #size = 0;
  #isWhole = true;

  /** Called at the beginning of a turn. */
  begin(): void {
    this.#told.clear();
    this.#size = 0;
    this.#isWhole = true;
  }

  /** Notes what a message of the agent tells of a call, if anything. */
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
   * The call of which an agent asks, with what it has told before.
   *
   * @returns undefined where the agent has told more in this turn than was kept
   */
  whole(asked: unknown): Fields | undefined {
    const { toolCallId, ...told } = fieldsIn(asked);
    if (!this.#isWhole) return undefined;
    const before = typeof toolCallId === 'string' ? this.#told.get(toolCallId) : undefined;
    return { ...before, ...said(told) };
  }
}

/** The fields that are there: one that is null is left as it was, as the protocol has it. */
function said(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
