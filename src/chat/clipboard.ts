import { Buffer } from 'node:buffer';
import { sizeInWords } from '../protocol/attached.ts';
import { harmless } from './clean.ts';

/** The bytes that terminals take: their limit is 100,000 characters of base64 with the frame. */
const MAX_BYTES = 74_994;

/** A text for the terminal's clipboard, or why it is not put there. */
export type Copied = { ok: true; sequence: string; said: string } | { ok: false; problem: string };

/**
 * The sequence by which a terminal puts a text on the clipboard (OSC 52). The text was written by
 * somebody else: it is in base64 between two constants, and what is pasted later steers no terminal.
 */
export function toClipboard(text: string): Copied {
  const bytes = Buffer.from(harmless(text).trimEnd(), 'utf8');
  const size = sizeInWords(bytes.length);
  if (bytes.length > MAX_BYTES) {
    return {
      ok: false,
      problem: `not copied: the message has ${size}, and a terminal takes ${sizeInWords(MAX_BYTES)}; save it with: crosstalk read`,
    };
  }
  const sequence = `\u001b]52;c;${bytes.toString('base64')}\u0007`;
  return { ok: true, sequence, said: `given to the terminal's clipboard: ${size}` };
}
