import { messageFile } from '../../protocol/layout.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { FollowUp, Subscriptions } from '../automation/subscriptions.ts';
import type { Job, JobResult } from './job.ts';

interface AnswerEntryParts {
  subscriptions: Pick<Subscriptions, 'after'>;
  signal: AbortSignal;
  newId: () => string;
  suffix: () => string;
}

/** The answers of a run as they go into the outbox, with what follows on them. */
export interface AnswerEntry {
  entry: OutboxEntry;
  /** Of the answers. */
  relPaths: string[];
  /** Of the answers' files. */
  paths: string[];
  tasks: FollowUp[];
}

/**
 * One entry for the answers of a run and the tasks that subscriptions give because of them: a crash
 * leaves both or neither.
 */
export async function answerEntry(
  parts: AnswerEntryParts,
  { actor, channel, messages, host, tip }: Job,
  answers: Extract<JobResult, { kind: 'answered' }>['answers'],
  letter: DeadLetter | undefined,
): Promise<AnswerEntry> {
  const written = answers.map((answer) => ({
    ...answer,
    ...outgoing(answer.message, answer.channel, host, parts.suffix()),
  }));
  const tasks = await parts.subscriptions.after(host, tip, written, parts.signal);
  return {
    relPaths: written.map(({ relPath }) => relPath),
    paths: written.map((one) => messageFile(one.channel, one.relPath)),
    tasks,
    entry: {
      id: parts.newId(),
      commits: [...written, ...tasks].map(({ commit }) => commit),
      delivery: {
        actor,
        channel,
        messages,
        ...(letter === undefined ? {} : { deadLetter: letter.id }),
      },
    },
  };
}
