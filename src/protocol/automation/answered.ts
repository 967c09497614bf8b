import type { Message } from '../message.ts';

/** Whether a message ends the work on another: an answer that is not an interim one, or the notice of a failure. */
export function isAnswerTo(
  { re, interim }: Pick<Message, 're' | 'interim'>,
  relPath: string,
): boolean {
  return interim !== true && re.includes(relPath);
}
