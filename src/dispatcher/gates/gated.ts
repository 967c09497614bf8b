import type { Tier } from '../../protocol/files/host-file.ts';
import type { Gate, Gates } from '../../state/gates.ts';

/** The messages of a run, or of a delivery. */
interface Mail {
  actor: string;
  channel: string;
  messages: readonly string[];
}

/**
 * Mail of this machine that waits for a decision, or was approved and waits for its run. The files are read once:
 * only the dispatcher writes it.
 */
export class Gated {
  readonly #gates: Gates;
  readonly #known = new Map<string, Gate>();
  #isLoaded = false;

  constructor(gates: Gates) {
    this.#gates = gates;
  }

  /** Reads the files, the first time it is called. */
  async load(): Promise<void> {
    if (this.#isLoaded) return;
    for (const gate of await this.#gates.all()) this.#known.set(gate.id, gate);
    this.#isLoaded = true;
  }

  get all(): Gate[] {
    return [...this.#known.values()];
  }

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Durable when it returns. */
  async put(gate: Gate): Promise<void> {
    await this.#gates.put(gate);
    this.#known.set(gate.id, gate);
  }

  async remove(id: string): Promise<void> {
    await this.#gates.remove(id);
    this.#known.delete(id);
  }

  /** Whether a message waits at a gate, decided or not, so that it is in no other run. */
  holds(actor: string, channel: string, relPath: string): boolean {
    return this.all.some(
      (gate) => gate.actor === actor && gate.channel === channel && gate.messages.includes(relPath),
    );
  }

  /** Returns the gate of exactly this mail; the newest, if a crash has left two. */
  of({ actor, channel, messages }: Mail): Gate | undefined {
    return this.all.findLast(
      (gate) => gate.actor === actor && gate.channel === channel && isSame(gate.messages, messages),
    );
  }

  /**
   * Returns the approval by which a run may carry out its proposal: of exactly this mail, in this tier, by somebody
   * whom the tier lets decide.
   */
  approved(mail: Mail, tier: Pick<Tier, 'name' | 'gate'>): Gate | undefined {
    const gate = this.of(mail);
    return gate !== undefined && isOf(gate, tier) && gate.decided?.decision === 'approve'
      ? gate
      : undefined;
  }

  /** Whether mail waits for a decision; approved mail does not. */
  waits(mail: Mail): boolean {
    const held = mail.messages.some((one) => this.holds(mail.actor, mail.channel, one));
    return held && this.of(mail)?.decided?.decision !== 'approve';
  }
}

/** Whether a gate still matches the settings of its tier. */
export function isOf(gate: Gate, tier: Pick<Tier, 'name' | 'gate'>): boolean {
  return gate.tier === tier.name && gate.gate === tier.gate;
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one) => others.includes(one));
}
