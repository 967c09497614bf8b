import { withoutCredentials } from '../../credentials.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { Transcripts } from '../../state/transcripts/transcripts.ts';
import type { Context } from '../context.ts';

/** Maximum characters of the output, from its end. */
const MOST_CHARACTERS = 4000;

/**
 * Returns the end of the stdout of a dead letter's last run, or of its model's words, from its transcript.
 *
 * @returns undefined when no run of it is on record here
 */
export async function printedFor(
  { paths }: Context,
  { actor, channel, messages }: DeadLetter,
): Promise<string | undefined> {
  const transcripts = new Transcripts(paths.transcripts);
  const ids = await transcripts.ids();
  for (const id of ids.toSorted().reverse()) {
    const head = await transcripts.head(id);
    const isIts = head?.actor === actor && head.channel === channel;
    if (!isIts || !messages.some((one) => head.messages.includes(one))) continue;
    const reader = transcripts.reader(id);
    const lines = await reader.look().finally(() => reader.close());
    const said = lines.map((one) => (one.kind === 'out' || one.kind === 'says' ? one.text : ''));
    const text = withoutCredentials(said.join(''));
    return text.length > MOST_CHARACTERS ? `…${text.slice(-MOST_CHARACTERS)}` : text;
  }
  return undefined;
}
