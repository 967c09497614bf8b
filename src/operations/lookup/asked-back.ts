import { isSentInterim } from '../../protocol/interim.ts';
import type { Located } from '../../protocol/message.ts';
import { messageKey, type MessageRef } from '../../protocol/message-ref.ts';
import type { Context } from '../context.ts';
import { withNaming, type Naming } from './naming.ts';

/** An interim answer. */
type Interim = MessageRef & Located;

/** What one name has said to a question. */
interface Said {
  /** relPath of its newest answer; empty if there is none. */
  answered: string;
  /** relPaths of what it gave to others. */
  tasks: string[];
  /** Whether one of these has no answer; undefined until it is looked up. */
  waits?: boolean;
}

/** The most messages that are examined for one interim answer, and for one question. */
const MOST_QUESTIONS = 20;
const MOST_REACTIONS = 200;

/**
 * Finds out which interim answers are questions back (talk.md): their writers have not answered since,
 * and do not wait for others, to whom they gave a part of the work. Of a question with options nobody
 * has to guess. What was said to a question is read once, however many interim answers name it.
 */
export class QuestionsBack {
  readonly #context: Context;
  readonly #tip: string;
  readonly #said = new Map<string, ReadonlyMap<string, Said>>();

  /** @param tip the commit at which messages are read */
  constructor(context: Context, tip: string) {
    this.#context = context;
    this.#tip = tip;
  }

  async has(one: Interim): Promise<boolean> {
    // What was printed is a word on the way; a question back is sent.
    if (!isSentInterim(one.message)) return false;
    return withNaming(this.#context, this.#tip, (naming) => this.#isStillAsked(one, naming));
  }

  async #isStillAsked({ channel, relPath, message }: Interim, naming: Naming): Promise<boolean> {
    for (const question of message.re.slice(0, MOST_QUESTIONS)) {
      const said = (await this.#saidTo({ channel, relPath: question }, naming)).get(message.from);
      if (said === undefined) continue;
      if (said.answered > relPath) return false;
      if (message.options !== undefined) continue;
      said.waits ??= await lacksAnswer(channel, said.tasks, naming);
      if (said.waits) return false;
    }
    return message.re.length > 0;
  }

  async #saidTo(question: MessageRef, naming: Naming): Promise<ReadonlyMap<string, Said>> {
    const key = messageKey(question);
    const known = this.#said.get(key);
    if (known !== undefined) return known;
    const reactions = (await naming(question, 're_or_cause')).slice(-MOST_REACTIONS);
    const said = new Map<string, Said>();
    for (const { relPath, message } of reactions) {
      const { from, re, interim } = message;
      const theirs = said.get(from) ?? { answered: '', tasks: [] };
      said.set(from, theirs);
      const isAnswer = interim !== true && re.includes(question.relPath);
      if (isAnswer && relPath > theirs.answered) theirs.answered = relPath;
      if (re.length === 0) theirs.tasks.push(relPath);
    }
    this.#said.set(key, said);
    return said;
  }
}

async function lacksAnswer(
  channel: string,
  tasks: readonly string[],
  naming: Naming,
): Promise<boolean> {
  for (const relPath of tasks)
    if ((await naming({ channel, relPath }, 're')).length === 0) return true;
  return false;
}
