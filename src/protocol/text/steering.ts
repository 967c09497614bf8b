// The expressions are where they are used: their tables of characters take a moment to load, and a command
// that prints to no terminal needs none of them.

/** Text that can neither control a terminal nor colour what is printed after it. */
export function colourless(text: string): string {
  // Control characters except line feed and tab, and those that reorder text.
  return text.replace(/(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
}

/**
 * The same without what a command wrote for a terminal alone: its sequences disappear as a whole,
 * so that nobody reads `[31m`.
 */
export function withoutSequences(text: string): string {
  // Colours and the cursor (`ESC [ … m`), titles and links (`ESC ] … BEL`), and character sets (`ESC ( B`).
  // All lengths are bounded, so that what is unfinished hides nothing.
  const sequences =
    /(?:(?![\n\r\t])\p{Cc}\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]|(?![\n\r\t])\p{Cc}(?:\][^\p{Cc}]{0,512}\p{Cc}\\?|\([0-9A-Z])/gu;
  return colourless(text.replace(sequences, ''));
}
