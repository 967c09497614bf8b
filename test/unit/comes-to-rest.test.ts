import fc from 'fast-check';
import { expect, it } from 'vitest';
import { activation } from '../../src/protocol/activation.ts';
import type { Lookup } from '../../src/protocol/causality.ts';
import { openQuestionsOfBatch } from '../../src/protocol/causality.ts';
import { lastWord, withInterim } from '../../src/protocol/interim.ts';
import type { Located, Message } from '../../src/protocol/message.ts';
import { relPathAt } from '../../src/protocol/names.ts';
import { answeredOn } from '../../src/protocol/pending.ts';
import { answerMessages, askersOf, planAnswers, sendMessages } from '../../src/protocol/reply.ts';

const ACTORS = ['a', 'b', 'c'];
const CHANNEL = '00000000-0000-4000-8000-000000000000';

/** What an actor does in a run: whom it sends something, and whether it prints. */
interface Habit {
  sends: string[];
  prints: boolean;
}

/** A bus in memory: actors whose habits repeat, and a person who asks once. */
class Conversation {
  readonly #messages = new Map<string, Message>();
  #pending: { actor: string; relPath: string }[] = [];
  readonly #habits: Record<string, Habit[]>;
  readonly #runs: Record<string, number> = {};
  #serial = 0;
  runs = 0;

  constructor(habits: Record<string, Habit[]>) {
    this.#habits = habits;
  }

  readonly #lookup: Lookup = (ref) => this.#messages.get(ref);

  all(): Located[] {
    return [...this.#messages].map(([relPath, message]) => ({ relPath, message }));
  }

  write(message: Message): string {
    const relPath = relPathAt(
      new Date(Date.UTC(2026, 0, 1) + this.#serial),
      this.#serial.toString(16).padStart(8, '0'),
    );
    this.#serial++;
    this.#messages.set(relPath, message);
    for (const actor of ACTORS)
      if (activation(message, actor, 'h', (ref) => this.#lookup(ref)?.from).wakes)
        this.#pending.push({ actor, relPath });
    return relPath;
  }

  /** Runs an actor with all that waits for it; false when nothing waits. */
  step(): boolean {
    const actor = this.#pending[0]?.actor;
    if (actor === undefined) return false;
    this.runs++;
    const batch = this.#pending.flatMap(({ actor: of, relPath }) => {
      const message = of === actor ? this.#messages.get(relPath) : undefined;
      return message === undefined ? [] : [{ relPath, message }];
    });
    this.#pending = this.#pending.filter((one) => one.actor !== actor);
    const habits = this.#habits[actor] ?? [];
    const turn = (this.#runs[actor] = (this.#runs[actor] ?? 0) + 1);
    const habit = habits[Math.min(turn, habits.length) - 1];
    if (habit !== undefined) this.#run(actor, batch, habit);
    return true;
  }

  #run(actor: string, batch: readonly Located[], { sends, prints }: Habit): void {
    const writer = { actor, host: 'h', at: new Date(0) };
    const before = this.all();
    const answered = answeredOn(actor, 'h', before);
    const plans = planAnswers(batch, actor, this.#lookup, answered);
    for (const name of sends) {
      if (name === actor) continue;
      const request = { to: [{ name }], body: 'sent', triggers: [...batch], home: CHANNEL };
      const place = { channel: CHANNEL, follows: true };
      for (const { message } of sendMessages({ ...request, ...place }, writer, this.#lookup))
        this.write(message);
    }
    const thread = this.all();
    if (prints) {
      const marked = withInterim(plans, actor, answered, thread, this.#lookup);
      for (const { message } of answerMessages(marked, batch, 'printed', writer, CHANNEL))
        this.write(message);
      return;
    }
    const questions = openQuestionsOfBatch(batch, actor, this.#lookup);
    const open = questions.filter((one) => !answered.has(one.relPath));
    for (const plan of askersOf(open)) {
      const word = lastWord(plan, actor, thread, this.#lookup);
      if (word === undefined) continue;
      for (const { message } of answerMessages([plan], batch, 'again', writer, CHANNEL))
        this.write({ ...message, final: word });
    }
  }
}

const habit = (peers: number): fc.Arbitrary<Habit> =>
  fc.record({
    sends: fc.subarray([...ACTORS, 'person'], { maxLength: peers }),
    prints: fc.boolean(),
  });

/** Some runs of any kind, then only runs that print or are silent: no habit goes on for ever. */
const habits = (): fc.Arbitrary<Habit[]> =>
  fc
    .tuple(fc.array(habit(2), { maxLength: 4 }), fc.boolean())
    .map(([some, prints]) => [...some, { sends: [], prints }]);

const question: Message = {
  from: 'person',
  to: [{ name: 'a' }],
  type: 'text',
  timestamp: '2026-01-01T00:00:00.000Z',
  re: [],
  cause: [],
  extra: {},
  body: 'do it\n',
};

it('a conversation in which nobody begins anything new comes to rest', () => {
  fc.assert(
    fc.property(fc.record({ a: habits(), b: habits(), c: habits() }), (all) => {
      const conversation = new Conversation(all);
      conversation.write(question);
      while (conversation.runs < 400 && conversation.step());
      expect(conversation.runs).toBeLessThan(400);
    }),
    { numRuns: 300 },
  );
});

it('where every actor prints once it is asked, the person gets exactly one answer that is final', () => {
  const first = fc.record({ sends: fc.subarray(ACTORS, { maxLength: 2 }), prints: fc.boolean() });
  const sometimes = fc.record({ a: first, b: first, c: first });
  fc.assert(
    fc.property(sometimes, (all) => {
      const print: Habit = { sends: [], prints: true };
      // Whoever is asked by another actor only prints; the first one delegates, and may chatter.
      const conversation = new Conversation({ a: [all.a, print], b: [print], c: [print] });
      const asked = conversation.write(question);
      while (conversation.runs < 400 && conversation.step());
      const finals = conversation
        .all()
        .filter(({ message }) => message.re.includes(asked) && message.interim === undefined);
      const delegated = all.a.sends.some((name) => name !== 'a');
      expect(finals).toHaveLength(delegated || all.a.prints ? 1 : 0);
    }),
    { numRuns: 300 },
  );
});
