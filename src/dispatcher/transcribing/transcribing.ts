import { passed } from '../../crash-points.ts';
import { narratorOf } from '../../agents/told/narrators.ts';
import type { RunEnding } from '../../state/bills/ledger.ts';
import type { TranscriptHead } from '../../state/transcripts/lines.ts';
import type { Transcripts } from '../../state/transcripts/transcripts.ts';
import { Teller } from './teller.ts';

/** Takes down what the runs under way print. */
export class Transcribing {
  readonly #transcripts: Transcripts;
  readonly #keep: () => number;
  readonly #now: () => Date;
  readonly #under = new Map<string, Teller>();

  /** @param keep for how many milliseconds a transcript is kept */
  constructor(transcripts: Transcripts, keep: () => number, now: () => Date) {
    this.#transcripts = transcripts;
    this.#keep = keep;
    this.#now = now;
  }

  /**
   * Called when a run begins.
   *
   * @param agent the known agent CLI that prints JSON
   */
  begin(head: Omit<TranscriptHead, 'kind'>, agent: string | undefined): void {
    // It was begun anew, as its session was gone.
    if (this.#under.has(head.id)) return;
    const file = this.#transcripts.begin({ kind: 'run', ...head });
    passed('transcript_begun');
    const narrator = agent === undefined ? undefined : narratorOf(agent);
    this.#under.set(head.id, new Teller(file, narrator, this.#now));
  }

  /** Takes a piece of what a run prints. */
  hear(id: string, stream: 'out' | 'err', bytes: Buffer): void {
    this.#under.get(id)?.hear(stream, bytes);
  }

  /** Takes down something that a run does, which it does not print. */
  tell(id: string, text: string): void {
    this.#under.get(id)?.tell(text);
  }

  /** Called when a run has ended; of one that never began nothing is known. */
  end(id: string, ended: RunEnding, reason?: string): void {
    const teller = this.#under.get(id);
    if (teller === undefined) return;
    this.#under.delete(id);
    teller.end({ kind: 'end', ended, ...(reason !== undefined && { reason }) });
    if (this.#keep() === 0) this.#transcripts.remove(id);
  }

  /** Removes what is older than it is to be kept. */
  async sweep(): Promise<void> {
    const edge = new Date(this.#now().getTime() - this.#keep());
    await this.#transcripts.removeBefore(edge, (id) => this.#under.has(id));
  }
}
