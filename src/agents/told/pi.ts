import { OUTPUT_FORMATS } from '../output/formats.ts';
import { piError, piUsage } from '../output/pi.ts';
import { objectIn, textsOf } from '../output/reader.ts';
import { jsonNarrator, SoFar, toolCall, words, type Narrator } from './told.ts';

/** Tells a tool when it begins, and a message once it is complete. */
export function pi(): Narrator {
  const used = new SoFar();
  return jsonNarrator((event) => {
    if (event['type'] === 'tool_execution_start')
      return [toolCall(event['toolName'], event['args'])];
    const message = objectIn(event['message']);
    if (event['type'] !== 'message_end' || message['role'] !== 'assistant') return [];
    return [
      ...words('says', textsOf(message['content'])),
      ...words('fails', piError(message)),
      used.add(piUsage(objectIn(message['usage']))),
    ];
  }, OUTPUT_FORMATS['pi']?.noise);
}
