import type { Message } from '../message.ts';

/** Whether a message ends the work on another: an answer that is no interim one, or news that it failed. */
export function isAnswerTo(
  { re, interim }: Pick<Message, 're' | 'interim'>,
  relPath: string,
): boolean {
  return interim !== true && re.includes(relPath);
}
