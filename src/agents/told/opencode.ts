import { opencodeError, opencodeUsage } from '../output/opencode.ts';
import { objectIn } from '../output/reader.ts';
import { jsonNarrator, SoFar, toolCall, words, type Narrator } from './told.ts';

/** Prints each part of its answer once it is complete, and what each step used. */
export function opencode(): Narrator {
  const used = new SoFar();
  return jsonNarrator((event) => {
    const part = objectIn(event['part']);
    switch (event['type']) {
      case 'text':
        return words('says', part['text']);
      case 'tool_use':
        return [toolCall(part['tool'], objectIn(part['state'])['input'])];
      case 'error':
        return words('fails', opencodeError(objectIn(event['error'])));
      case 'step_finish':
        return [used.add(opencodeUsage(part))];
      default:
        return [];
    }
  });
}
