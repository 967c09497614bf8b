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
