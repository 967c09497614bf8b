import type { WebRun } from '../../api/api.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { settledBy } from '../../state/outbox.ts';
import { tipOf, type Context } from '../context.ts';
import { withNaming } from '../lookup/naming.ts';
import { readRecords } from '../state/local.ts';
import { isSettled } from '../tracing/facts.ts';
import { messagesIn } from './own-state.ts';

/**
 * Determines how runs ended that were at work a moment ago. The outcome of a run is on disk before
 * its record is removed (docs/architecture.md, crash order): a dead letter, an outbox entry, or by
 * now messages on the bus. Without any of them the actor met its messages with silence if they are
 * settled; otherwise the run was stopped, and they wait again.
 */
export async function endedRuns(context: Context, gone: readonly WebRun[]): Promise<WebRun[]> {
  if (gone.length === 0) return [];
  const until = context.now().toISOString();
  const { letters, outbox, cursors } = await readRecords(context);
  return withNaming(context, await tipOf(context), (naming) =>
    Promise.all(
      gone.map(async (run): Promise<WebRun> => {
        const isOurs = (actor: string, channel: string, messages: readonly string[]): boolean =>
          actor === run.actor &&
          channel === run.channel &&
          messages.some((path) => run.messages.includes(path));
        const earlier = letters.filter(({ actor, channel, messages }) =>
          isOurs(actor, channel, messages),
        );
        const letter = earlier.find(({ last_failed_at: at }) => at >= run.since);
        if (letter !== undefined) return { ...run, until, outcome: outcomeOf(letter) };
        const queued = outbox.flatMap(({ delivery, commits }) =>
          delivery !== undefined &&
          settledBy(delivery).some((part) => isOurs(part.actor, part.channel, part.messages))
            ? messagesIn(commits).map(({ relPath }) => relPath)
            : [],
        );
        const named = await Promise.all(
          run.messages.map((relPath) => naming({ channel: run.channel, relPath }, 're_or_cause')),
        );
        const sent = named
          .flat()
          .filter(({ message }) => message.from === run.actor && message.timestamp >= run.since);
        const answers = [...new Set([...queued, ...sent.map(({ relPath }) => relPath)])];
        if (answers.length > 0) return { ...run, until, answers, outcome: 'answered' };
        // The messages of a retry were settled when they failed first.
        const settled = await Promise.all(
          run.messages.map((relPath) =>
            isSettled(context, cursors, run.actor, { channel: run.channel, relPath }),
          ),
        );
        const isSilent = earlier.length === 0 && settled.every((one) => one);
        return { ...run, until, answers, outcome: isSilent ? 'silent' : 'stopped' };
      }),
    ),
  );
}

function outcomeOf({ state }: DeadLetter): WebRun['outcome'] {
  return state === 'parked' || state === 'cancelled' ? state : 'failed';
}
