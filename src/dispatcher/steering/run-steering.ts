import type { DispatcherApp } from '../../bus/app.ts';
import { passed } from '../../crash-points.ts';
import { reasonOf } from '../../errors.ts';
import { MAX_STEERED, type Steered } from '../../protocol/talk.ts';
import type { Reached } from '../../runner/runner.ts';

/** Run that receives messages, as far as they change it. */
export interface SteeredRun {
  /** The dispatch id. */
  id: string;
  actor: string;
  channel: string;
  /** The commit at which its messages are read. */
  tip: string;
  messages: string[];
}

const LATE = 'the run had come to its end';

/** Sends the agent at work a message of its run; `no`: the reason why it does not receive it. */
export type Tell = (message: string) => Promise<Reached | { no: string }>;

/**
 * Messages to a run while it is under way (warm.md, "Steering"). Messages are taken one after another.
 *
 * The order, for a crash between any two steps: the record of the run names the message, so that a start after it
 * delivers both again → the agent receives it → the answer names both. A message that the agent could not receive,
 * because the turn had come to its end, leaves the run and waits like any other. The end of a run waits for the
 * message that is being sent, so that every message is either in its answer or in its mailbox.
 */
export class RunSteering {
  /** Messages that have gone into the run. */
  taken: readonly Steered[] = [];
  readonly #app: Pick<DispatcherApp, 'runs' | 'log'>;
  readonly #giveBack: (message: string) => void;
  readonly #run: SteeredRun;
  #tell: Tell | undefined;
  #hasBegun: () => void = () => undefined;
  #begun = this.#newBegun();
  #under: Promise<unknown> = Promise.resolve();
  #last: Promise<void> = Promise.resolve();
  #count = 0;
  #isOver = false;
  /** The messages for which the agent was ended. */
  #endedFor: string[] = [];

  /** @param giveBack makes a message one that waits for a run of its own */
  constructor(
    app: Pick<DispatcherApp, 'runs' | 'log'>,
    run: SteeredRun,
    giveBack: (message: string) => void,
  ) {
    this.#app = app;
    this.#giveBack = giveBack;
    this.#run = run;
  }

  /** Whether it takes another message. */
  get isOpen(): boolean {
    return !this.#isOver && this.#count < MAX_STEERED;
  }

  /**
   * Takes over a message, which is sent as soon as the agent is at work.
   *
   * @param tip a commit that has it
   */
  take(message: string, tip: string): void {
    this.#count++;
    this.#last = this.#last.then(() => this.#take(message, tip));
  }

  /** Called when the agent is at work. */
  begin(tell: Tell): void {
    this.#tell = tell;
    this.#hasBegun();
  }

  /** Stops when the agent is not at work any more; the message that is being sent is handled when it returns. */
  async pause(): Promise<void> {
    if (this.#tell !== undefined) this.#begun = this.#newBegun();
    this.#tell = undefined;
    await this.#under;
  }

  /**
   * Ends the steering when the run has come to its end, after {@link pause}.
   *
   * @param wasEnded whether the agent was ended before it came to its end
   * @returns whether it has to start again, with all of its messages; otherwise it takes nothing more
   */
  async end(wasEnded: boolean): Promise<boolean> {
    const endedFor = this.#endedFor;
    this.#endedFor = [];
    if (wasEnded && endedFor.length > 0) return true;
    this.taken = this.taken.filter(({ message }) => !endedFor.includes(message));
    for (const message of endedFor) this.#leave(message, LATE);
    await this.close();
    return false;
  }

  /** Takes nothing more. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#hasBegun();
    await this.#last;
  }

  async #take(message: string, tip: string): Promise<void> {
    // A run that starts again takes the messages that have waited for its start.
    while (!this.#isOver && this.#tell === undefined) await this.#begun;
    const tell = this.#tell;
    if (tell === undefined) {
      this.#leave(message, LATE);
      return;
    }
    const telling = this.#told(message, tip, tell).catch((error: unknown) => {
      this.#leave(message, reasonOf(error));
    });
    this.#under = telling;
    await telling;
  }

  async #told(message: string, tip: string, tell: Tell): Promise<void> {
    const { messages } = this.#run;
    this.#run.tip = tip;
    messages.push(message);
    await this.#note();
    passed('steering_recorded');
    const reached = await tell(message);
    if (reached === 'late') this.#leave(message, LATE);
    else if (typeof reached === 'object') this.#leave(message, reached.no);
    else {
      const how = reached === 'into' ? 'into' : 'again';
      if (reached === 'ended') this.#endedFor.push(message);
      const { id, actor, channel } = this.#run;
      this.taken = [...this.taken, { message, how, run: id }];
      this.#app.log('steered', { id, actor, channel, message, how });
    }
    // The answer names the messages it took; this is for processes that ask meanwhile.
    await this.#note().catch(() => undefined);
    passed('steering_told');
  }

  #note(): Promise<void> {
    return this.#app.runs.note(this.#run, this.taken);
  }

  #leave(message: string, reason: string): void {
    const { id, actor, channel, messages } = this.#run;
    const at = messages.indexOf(message);
    if (at >= 0) messages.splice(at, 1);
    this.#app.log('steering_late', { id, actor, channel, message, reason });
    this.#giveBack(message);
  }

  #newBegun(): Promise<void> {
    return new Promise((resolve) => (this.#hasBegun = resolve));
  }
}
