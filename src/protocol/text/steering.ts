/** Control characters except line feed and tab, and those that reorder text. */
const STEERING = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text that can neither control a terminal nor colour what is printed after it. */
export function colourless(text: string): string {
  return text.replace(STEERING, '');
}
