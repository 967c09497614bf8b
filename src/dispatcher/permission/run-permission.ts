import { reasonOf } from '../../errors.ts';
import {
  MOST_QUESTIONS,
  permissionQuestion,
  toolCall,
} from '../../protocol/decision/permission.ts';
import type { PermissionOnRecord } from '../../protocol/text/words.ts';
import type { AskingRun, OpenQuestion, Outcome, Permissions } from './permissions.ts';
import { isRecord } from '../../state/files.ts';

const ENDED = 'denied: the run comes to its end';

/**
 * Questions for permission of one run. However often and in whatever way it asks, at most five go to a person, each
 * once, and only the asking process receives the outcome of a question.
 */
export class RunPermission {
  readonly #run: AskingRun;
  readonly #permissions: Permissions;
  readonly #ended = new AbortController();
  /** By the id of the request: one that comes twice has one answer. */
  readonly #asked = new Map<string, Promise<PermissionAnswer>>();
  #count = 0;
  #waiting = 0;
  #since = 0;
  #waited = 0;

  constructor(run: AskingRun, permissions: Permissions) {
    this.#run = run;
    this.#permissions = permissions;
  }

  /** Milliseconds until now in which a question was open; at most five times the time for one. */
  get idle(): number {
    return this.#waited + (this.#waiting > 0 ? performance.now() - this.#since : 0);
  }

  /**
   * Asks, and waits for the decision. Never rejects.
   *
   * @param request the untrusted input of the run: anything
   * @param gone aborted when nobody waits for the answer any more
   * @param onDurable called once the request is dealt with as far as it can be without a person
   */
  ask(request: unknown, gone: AbortSignal, onDurable: () => void): Promise<PermissionAnswer> {
    const { id, input } = fieldsOf(request);
    const { tool, input: given } = fieldsOf(input);
    const call = toolCall(tool, given);
    if (typeof id !== 'string' || !/^[0-9A-HJKMNP-TV-Z]{26}$/.test(id) || !call.ok)
      return denied(
        call.ok
          ? 'denied: this is no question for permission'
          : `denied: ${call.problems.join('; ')}`,
      );
    const before = this.#asked.get(id);
    if (before !== undefined) return before;
    if (this.#ended.signal.aborted) return denied(ENDED);
    if (this.#count >= MOST_QUESTIONS) {
      this.#permissions.log('permission_denied', {
        ...this.#facts(call.value),
        reason: 'too_many',
      });
      return denied(
        `denied: a run may ask ${String(MOST_QUESTIONS)} times, and this one has; go on without it, or say in the answer what is left to do`,
      );
    }
    this.#count++;
    const answer = this.#wait(call.value, gone, onDurable);
    this.#asked.set(id, answer);
    return answer;
  }

  /** Takes back open questions: the run is over, or is to end. Resolves once that is on record. */
  async close(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#asked.values());
  }

  async #wait(
    call: PermissionOnRecord,
    gone: AbortSignal,
    onDurable: () => void,
  ): Promise<PermissionAnswer> {
    const { actor, host, approver, re, timeout, markOf } = this.#run;
    this.#pause();
    try {
      const input = JSON.parse(call.input) as Record<string, unknown>;
      const marked = markOf(call.tool, input);
      const at = this.#permissions.now();
      const message = permissionQuestion(call, marked, { actor, host, at }, { approver, re });
      const question = await this.#permissions.open(this.#run, message, marked.mark);
      if (!question.ok)
        return { behavior: 'deny', message: `denied: ${question.problems.join('; ')}` };
      onDurable();
      const { tool } = call;
      const { relPath } = question.value;
      this.#run.tell(`asks ${approver} whether it may use ${tool}: ${relPath}`);
      const ends = AbortSignal.any([gone, this.#ended.signal]);
      const outcome = await this.#permissions.outcome(question.value, timeout, ends);
      this.#run.tell(`${OUTCOMES[outcome.kind]}: ${relPath}`);
      return answerTo(outcome, call, question.value);
    } catch (error) {
      const reason = reasonOf(error);
      this.#permissions.log('internal_error', { id: this.#run.id, actor, error: reason });
      return { behavior: 'deny', message: 'denied: nobody could be asked' };
    } finally {
      this.#resume();
    }
  }

  #facts({ tool }: PermissionOnRecord): Record<string, unknown> {
    const { id, actor, channel } = this.#run;
    return { id, actor, channel, tool };
  }

  #pause(): void {
    if (this.#waiting++ === 0) this.#since = performance.now();
  }

  #resume(): void {
    if (--this.#waiting === 0) this.#waited += performance.now() - this.#since;
  }
}

/** Outcomes of a question, for people who watch. */
const OUTCOMES: Record<Outcome['kind'], string> = {
  approved: 'it is allowed once',
  denied: 'it is denied',
  unanswered: 'nobody answered, so it is denied',
  ended: 'the question is taken back',
};

function answerTo(
  outcome: Outcome,
  { input }: PermissionOnRecord,
  { approver, timeout }: OpenQuestion,
): PermissionAnswer {
  switch (outcome.kind) {
    case 'approved':
      return { behavior: 'allow', input };
    case 'denied': {
      const note = outcome.note === '' ? '' : `: ${outcome.note}`;
      return { behavior: 'deny', message: `denied by ${approver}${note}` };
    }
    case 'unanswered':
      return {
        behavior: 'deny',
        message: `denied: nobody answered within ${String(Math.ceil(timeout / 1000))} s`,
      };
    case 'ended':
      return { behavior: 'deny', message: ENDED };
  }
}

function denied(message: string): Promise<PermissionAnswer> {
  return Promise.resolve({ behavior: 'deny', message });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

/** Answer of the dispatcher to a run that asks for permission. */
export type PermissionAnswer =
  /** `input`: the input that was shown to the person who allowed it, as JSON text. */
  { behavior: 'allow'; input: string } | { behavior: 'deny'; message: string };

/** Reads an answer that came over a socket or from a file; undefined for anything else. */
export function permissionAnswerIn(value: unknown): PermissionAnswer | undefined {
  if (!isRecord(value)) return undefined;
  const { behavior, input, message } = value;
  if (behavior === 'allow' && typeof input === 'string') return { behavior, input };
  return behavior === 'deny' && typeof message === 'string' ? { behavior, message } : undefined;
}
