import fc from 'fast-check';
import { expect, it } from 'vitest';
import { activation } from '../../src/protocol/activation.ts';
import { type Lookup, openQuestionsOfBatch } from '../../src/protocol/causality.ts';
import { lastWord, withInterim } from '../../src/protocol/interim.ts';
import { conversationOf } from '../../src/protocol/thread.ts';
import { joinOf } from '../../src/protocol/join.ts';
import type { Located, Message } from '../../src/protocol/message.ts';
import { relPathAt } from '../../src/protocol/layout.ts';
import { answeredOn } from '../../src/protocol/pending.ts';
import { answerMessages, askersOf, planAnswers, sendMessages } from '../../src/protocol/reply.ts';

/** Stands for whoever asked, and is asked back. */
const BACK = 'asker';
const ACTORS = ['a', 'b', 'c', 'd'];
const CHANNEL = '00000000-0000-4000-8000-000000000000';

/** What an actor does in a run: whom it sends something, and whether it prints. */
interface Habit {
  sends: string[];
  prints: boolean;
  /** Whether it sends something to whoever asked it back. */
  replies?: true;
}

/** A bus in memory: actors whose habits repeat, and a person who asks once. */
class Conversation {
  readonly #messages = new Map<string, Message>();
  #pending: { actor: string; relPath: string }[] = [];
  readonly #habits: Record<string, Habit[]>;
  readonly #runs: Record<string, number> = {};
  /** The actors that are woken once for the answers of all peers. */
  readonly #joining: readonly string[];
  #serial = 0;
  runs = 0;
  /** How often answers were handed over because nothing else could happen: their time was over. */
  timeouts = 0;

  constructor(habits: Record<string, Habit[]>, joining: readonly string[] = []) {
    this.#habits = habits;
    this.#joining = joining;
  }

  /** How often an actor ran. */
  runsOf(actor: string): number {
    return this.#runs[actor] ?? 0;
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

  /** Runs an actor with one conversation that waits for it; false when nothing waits. */
  step(): boolean {
    const batches = this.#batches();
    const ready = batches.find((one) => !this.#isHeld(one));
    const next = ready ?? batches[0];
    if (next === undefined) return false;
    if (ready === undefined) this.timeouts++;
    const { actor, batch } = next;
    this.runs++;
    const taken = new Set(batch.map(({ relPath }) => relPath));
    this.#pending = this.#pending.filter((one) => one.actor !== actor || !taken.has(one.relPath));
    const habits = this.#habits[actor] ?? [];
    const turn = (this.#runs[actor] = (this.#runs[actor] ?? 0) + 1);
    const habit = habits[Math.min(turn, habits.length) - 1];
    if (habit !== undefined) this.#run(actor, batch, habit);
    return true;
  }

  /** What waits, by actor and conversation, in the order of its oldest message. */
  #batches(): { actor: string; batch: Located[] }[] {
    const found = new Map<string, { actor: string; batch: Located[] }>();
    for (const { actor, relPath } of this.#pending) {
      const message = this.#messages.get(relPath);
      if (message === undefined) continue;
      const one = { relPath, message };
      const key = `${actor} ${conversationOf(one, actor, this.#lookup)}`;
      const known = found.get(key) ?? { actor, batch: [] };
      known.batch.push(one);
      found.set(key, known);
    }
    return [...found.values()];
  }

  #isHeld({ actor, batch }: { actor: string; batch: Located[] }): boolean {
    const [first] = batch;
    if (!this.#joining.includes(actor) || first === undefined) return false;
    if (first.message.re.length === 0 || first.message.asks === true) return false;
    const questions = openQuestionsOfBatch(batch, actor, this.#lookup).map((one) => one.relPath);
    const facts = { actor, questions, batch, channel: this.all(), lookup: this.#lookup };
    return joinOf(facts, () => 0, 1) !== undefined;
  }

  /** Lets the person reply to what asks back; false when nothing does. */
  reply(): boolean {
    const replied = new Set(
      this.all().flatMap(({ message }) => (message.from === 'person' ? message.re : [])),
    );
    const open = this.all().filter(
      ({ relPath, message: { to, interim, printed } }) =>
        to[0]?.name === 'person' && interim && printed !== true && !replied.has(relPath),
    );
    for (const { relPath, message } of open)
      this.write({ ...question, to: [{ name: message.from }], re: [relPath] });
    return open.length > 0;
  }

  #run(actor: string, batch: readonly Located[], habit: Habit): void {
    const { prints } = habit;
    const back = batch.filter(({ message }) => message.interim).map(({ message }) => message.from);
    const [asker = ''] = batch.map(({ message }) => message.from);
    const named = habit.sends.map((name) => (name === BACK ? asker : name));
    const sends = new Set([...named, ...(habit.replies ? back : [])]);
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
    fc.property(
      fc.record({ a: habits(), b: habits(), c: habits() }),
      fc.subarray(ACTORS),
      (all, joining) => {
        const conversation = new Conversation(all, joining);
        conversation.write(question);
        while (conversation.runs < 400 && conversation.step());
        expect(conversation.runs).toBeLessThan(400);
      },
    ),
    { numRuns: 500 },
  );
});

it('where every actor prints once it is asked, the person gets exactly one answer that is final', () => {
  const first = fc.record({
    sends: fc.subarray(['a', 'b', 'c'], { maxLength: 2 }),
    prints: fc.boolean(),
  });
  const sometimes = fc.record({ a: first, b: first, c: first });
  fc.assert(
    fc.property(sometimes, fc.boolean(), (all, joins) => {
      const print: Habit = { sends: [], prints: true };
      // Whoever is asked by another actor only prints; the first one delegates, and may chatter.
      const conversation = new Conversation(
        { a: [all.a, print], b: [print], c: [print] },
        joins ? ['a'] : [],
      );
      const asked = conversation.write(question);
      while (conversation.runs < 400 && conversation.step());
      const finals = conversation
        .all()
        .filter(({ message }) => message.re.includes(asked) && message.interim === undefined);
      const delegated = all.a.sends.some((name) => name !== 'a');
      expect(finals).toHaveLength(delegated || all.a.prints ? 1 : 0);
      // All answer, so no time has to pass, and the answers of all cost one run.
      expect(conversation.timeouts).toBe(0);
      if (joins && delegated) expect(conversation.runsOf('a')).toBe(2);
    }),
    { numRuns: 300 },
  );
});

it('where actors ask back and chatter, and each reply is given, the person gets a final answer', () => {
  // What is printed beside a question back is an answer, unless others owe a part.
  const asks = (names: string[]): fc.Arbitrary<Habit> =>
    fc
      .record({ sends: fc.subarray(names, { maxLength: 2 }), prints: fc.boolean() })
      .map(({ sends, prints }) => {
        const gives = sends.some((name) => name !== BACK);
        return { sends, prints: sends.length === 0 || (prints && gives) };
      });
  // Work is given downwards, and asked back upwards: nobody waits for himself.
  const each = fc.record({
    a: asks([BACK, 'b', 'c', 'd']),
    b: asks([BACK, 'c', 'd']),
    c: asks([BACK, 'd']),
    talks: fc.boolean(),
    joining: fc.subarray(ACTORS),
  });
  fc.assert(
    fc.property(each, ({ talks, joining, ...all }) => {
      const then: Habit = { sends: [], prints: true, replies: true };
      const talk: Habit = { ...then, sends: ['d'], prints: talks };
      const conversation = new Conversation(
        {
          a: [all.a, then],
          b: [all.b, talk, then],
          c: [all.c, talk, then],
          d: [then],
        },
        joining,
      );
      const asked = conversation.write(question);
      do while (conversation.runs < 400 && conversation.step());
      while (conversation.reply());
      const finals = conversation
        .all()
        .filter(({ message }) => message.re.includes(asked) && message.interim === undefined);
      expect(conversation.runs).toBeLessThan(400);
      // Whoever prints before a reply has come may add to that answer later.
      expect(finals.length).toBeGreaterThan(0);
    }),
    { numRuns: 1000 },
  );
});
