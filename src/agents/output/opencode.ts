import type { Usage } from '../../protocol/usage.ts';
import { jsonLines, objectIn, textIn, tokens, type Json, type OutputReader } from './reader.ts';
import { money, together } from './sums.ts';

/** Prints each part of its answer, and what each step used. */
export function opencode(): OutputReader {
  const texts = new Map<string, string>();
  let error: string | undefined;
  let [isSeen, isOpen] = [false, false];
  let session: string | undefined;
  const steps: Usage[] = [];
  return jsonLines(
    (event) => {
      const part = objectIn(event['part']);
      session ??= textIn(event['sessionID']);
      if (event['type'] === 'text') texts.set(textIn(part['id']) ?? '', textIn(part['text']) ?? '');
      // Another step follows one that ended with tools.
      if (event['type'] !== 'error')
        isOpen = part['reason'] === 'tool-calls' || event['type'] !== 'step_finish';
      if (event['type'] === 'error') error = opencodeError(objectIn(event['error']));
      if (event['type'] !== 'step_finish') return;
      isSeen = true;
      error = undefined;
      steps.push(opencodeUsage(part));
    },
    () => {
      const usage = together(steps, '');
      const text = [...texts.values()].join('\n\n');
      return {
        ...((isSeen || text !== '') && { text }),
        ...(error !== undefined && { error }),
        ...(usage && { usage }),
        isFinal: !isOpen,
        ...(session !== undefined && { session }),
      };
    },
  );
}

/** What a step used, by the part in which it ends. */
export function opencodeUsage(part: Json): Usage {
  const { input, output, reasoning, cache } = objectIn(part['tokens']);
  const { read, write } = objectIn(cache);
  return {
    input: tokens(input) + tokens(write),
    cached: tokens(read),
    output: tokens(output) + tokens(reasoning),
    ...money(part['cost']),
  };
}

/** An error in the words that it has without JSON. */
export function opencodeError({ name, data }: Json): string {
  const message = textIn(objectIn(data)['message']);
  return `Error: ${message ?? textIn(name) ?? 'it said that it failed, and no more'}`;
}
