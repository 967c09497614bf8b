import { inLine } from './structure.ts';

/** A note in force, as the prompt names it. */
export interface NoteInPrompt {
  /** The suffix of its file name. */
  suffix: string;
  /** When it was written, `YYYY-MM-DD`. */
  day: string;
  /** What it is, unless it is an ordinary note. */
  kind?: string;
  name?: string;
  /** Whom it is for. */
  scope: 'you' | 'this channel' | 'all';
  subject: string;
}

/** The limits of the section (automation.md, "Memory"), and the most characters of one subject. */
export const NOTE_LIMITS = { lines: 200, bytes: 25 * 1024, subject: 300 };

const INTRODUCTION = 'Their texts: crosstalk memory show <the first word of the line>.';

/**
 * Names the notes in force, one a line; empty when there are none. Anybody who can push writes subjects, so they stand
 * within the line as JSON strings.
 */
export function aboutNotes(notes: readonly NoteInPrompt[]): string {
  if (notes.length === 0) return '';
  const lines: string[] = [];
  // Room for the introduction, and for the line that says how many are left out.
  let bytes = NOTE_LIMITS.bytes - 200;
  for (const note of notes) {
    const line = aboutNote(note);
    bytes -= Buffer.byteLength(line) + 1;
    if (bytes < 0 || lines.length === NOTE_LIMITS.lines - 2) break;
    lines.push(line);
  }
  const left = notes.length - lines.length;
  if (left > 0) lines.push(`- ${String(left)} more are left out here: crosstalk memory list`);
  return [INTRODUCTION, ...lines].join('\n');
}

function aboutNote({ suffix, day, kind, name, scope, subject }: NoteInPrompt): string {
  const facts = [
    day,
    ...(kind === undefined ? [] : [kind]),
    ...(name === undefined ? [] : [`name ${name}`]),
    `for ${scope}`,
  ].join(', ');
  return `- ${suffix} (${facts}): ${JSON.stringify(clip(inLine(subject)))}`;
}

function clip(text: string): string {
  if (text.length <= NOTE_LIMITS.subject) return text;
  // Half of a character at the end is left out.
  return `${text.slice(0, NOTE_LIMITS.subject).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
