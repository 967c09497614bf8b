/**
 * Lines that Crosstalk itself writes in a prompt, and the mark for a line of foreign text that looks like one
 * (trust.md §4, docs/decisions/03-prompts.md). The origin of a text does not matter: everything that Crosstalk did not write
 * goes through {@link quoted}.
 */

/** The headings of a prompt. Foreign text cannot produce a line that reads like one. */
export const HEADINGS = {
  profile: 'Your profile',
  channel: 'This channel',
  peers: 'Who else is here',
  notes: 'Shared notes in force',
  place: 'Where you are',
  session: 'Your session',
  earlier: 'Earlier, with',
  thread: 'The thread so far',
  news: 'New in this thread',
  meanwhile: 'Said meanwhile',
  skill: 'The skill asked for',
  form: 'The form of your answer',
  gate: 'What needs approval here',
};

/** Mark that is inserted before a foreign line that looks like one of Crosstalk's. */
export const MARK = '> ';

const WORD_NAME = 'crosstalk';

/** Returns the line before each delimiter line; `word` was made for this prompt and is not known to anybody else. */
export function wordLine(word: string): string {
  return `[${WORD_NAME} ${word}]`;
}

/**
 * All line ends that some reader recognizes: line feed and carriage return, the separators of ASCII, next
 * line, and the line and paragraph separators of Unicode.
 */
// eslint-disable-next-line no-control-regex -- these are the characters meant
const BREAK = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/**
 * Inserts {@link MARK} before each line of a text that looks like one of Crosstalk's, and changes
 * nothing else. {@link unquoted} is its inverse for every text.
 *
 * @param word of this prompt, if it has one: a line with it is marked too, although nobody can know
 *   it
 */
export function quoted(text: string, word?: string): string {
  return markedLines(text, (line) => isOurs(line, word));
}

/** Inserts {@link MARK} before each line of a text for which `isLike` is true. */
export function markedLines(text: string, isLike: (line: string) => boolean): string {
  return eachLine(text, (line) => (isLike(line) ? MARK + line : line));
}

/** Reverses {@link quoted}: removes the mark from each line that looks like one of Crosstalk's. */
export function unquoted(text: string, word?: string): string {
  return eachLine(text, (line) => (isOurs(line, word) ? line.slice(MARK.length) : line));
}

/** Inserts `prefix` before every line of a text that is quoted as a whole. */
export function indented(text: string, prefix: string): string {
  return eachLine(text, (line) => prefix + line);
}

/** Returns foreign words within one of Crosstalk's lines: without line breaks and invisible characters. */
export function inLine(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]+/gu, ' ').trim();
}

function eachLine(text: string, change: (line: string) => string): string {
  const parts: string[] = [];
  let start = 0;
  for (const { 0: end, index } of text.matchAll(BREAK)) {
    parts.push(change(text.slice(start, index)), end);
    start = index + end.length;
  }
  parts.push(change(text.slice(start)));
  return parts.join('');
}

/** Returns the letters of a title without blanks, in the form in which {@link Seen} returns those of a line. */
const plain = (title: string): string => title.toLowerCase().replaceAll(' ', '');
const TITLES = Object.values(HEADINGS).map(plain);
/** The mark of a thread entry's first line: `> <from> to <to> (ref: …):`. */
const ENTRY = '(ref:';

/**
 * Whether a line looks like one of Crosstalk's: `--- Message …`, a heading, the line with the word, or the
 * first line of a thread entry. It is judged by its appearance: a character that resembles a letter in
 * another script or width counts as that letter, and invisible or merely decorative characters are ignored.
 *
 * Examines no more of the line than necessary, which for nearly every line is its first character.
 */
function isOurs(line: string, word: string | undefined): boolean {
  if (word !== undefined && line.includes(word)) return true;
  const seen = new Seen(line);
  let next = seen.next();
  let dashes = 0;
  for (; next === '-' || next === '—'; next = seen.next()) dashes += next === '-' ? 1 : 2;
  if (dashes >= 2 && seen.goesOn(next, ['message'])) return true;
  if (next === '#') {
    while (next === '#') next = seen.next();
    return seen.goesOn(next, TITLES);
  }
  if (next === '[') return seen.goesOn(seen.next(), [WORD_NAME]);
  return seen.isQuote && seen.has(next, ENTRY);
}

/**
 * Characters that are invisible or blank: separators, controls, formats, marks, ignorable
 * characters, fillers.
 */
const UNSEEN = /[\p{Z}\p{C}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Quotation marks, and the characters that make text bold, code or struck out. */
const DECORATION = '>*_`~\\|+';
const DASH = /[\p{Pd}\u02c9\u2212\u23af\u2500\u2501\u2796\u30fc]/u;
const LETTER = /\p{L}/u;
/** Placeholder for a letter of another script, which may look like any ASCII letter. */
const ANY = 'any letter';

/**
 * The visible characters of a line, one after the other; each character, not the line, is
 * normalised.
 */
class Seen {
  readonly #line: string;
  #at = 0;
  /** The rest of a character that is equivalent to several, such as `⒨`. */
  #rest = '';
  /** Whether a `>` was seen. */
  isQuote = false;

  constructor(line: string) {
    this.#line = line;
  }

  /** Returns the next character in lower case; `—` for a dash outside of ASCII; empty at the end. */
  next(): string {
    for (;;) {
      if (this.#rest === '') {
        const code = this.#line.codePointAt(this.#at);
        if (code === undefined) return '';
        const character = String.fromCodePoint(code);
        this.#at += character.length;
        if (code === 0x1b) this.#skipSequence();
        else this.#rest = code < 0x80 ? character : character.normalize('NFKD');
        continue;
      }
      const [first = ''] = this.#rest;
      this.#rest = this.#rest.slice(first.length);
      if (first === '>') this.isQuote = true;
      const isSeen =
        first >= '!' && first <= '~' ? !DECORATION.includes(first) : !UNSEEN.test(first);
      if (isSeen) return like(first);
    }
  }

  /** Whether the visible characters from here on, including `first`, begin with one of the titles. */
  goesOn(first: string, titles: readonly string[]): boolean {
    let possible = titles;
    let next = first;
    for (let index = 0; next !== ''; index++) {
      const letter = next;
      possible = possible.filter((title) => letter === ANY || title[index] === letter);
      if (possible.some((title) => title.length === index + 1)) return true;
      if (possible.length === 0) return false;
      next = this.next();
    }
    return false;
  }

  /**
   * Whether the visible characters from here on contain `part`, whose beginning must not occur
   * again within it.
   */
  has(first: string, part: string): boolean {
    let found = 0;
    for (let next = first; next !== ''; next = this.next()) {
      const fits = next === part[found] || (next === ANY && LETTER.test(part[found] ?? ''));
      found = fits ? found + 1 : next === part[0] ? 1 : 0;
      if (found === part.length) return true;
    }
    return false;
  }

  /** Skips the rest of a terminal's escape sequence, such as a colour. */
  #skipSequence(): void {
    if (this.#line[this.#at] !== '[') return;
    this.#at++;
    while (/[ -?]/.test(this.#line[this.#at] ?? '')) this.#at++;
    this.#at++;
  }
}

function like(character: string): string {
  if (character >= '!' && character <= '~') return character.toLowerCase();
  if (DASH.test(character)) return '—';
  if (character === '♯') return '#';
  return LETTER.test(character) ? ANY : character;
}

/** State of the gate of a run's tier. */
export type GateInPrompt =
  /** The run plans, and this name decides on the plan. */
  | { approver: string }
  /** The plan was approved. */
  | { plan: string; note: string; by: string };

/** Describes its gate to a run: nothing if its tier has none. */
export function aboutGate(gate: GateInPrompt | undefined, word: string): string {
  if (gate === undefined) return '';
  if ('approver' in gate)
    return [
      `You are planning. Change nothing, send nothing and give no work to others: nothing is done in this run. What you print is a plan, which ${inLine(gate.approver)} reads and approves or denies. Only after an approval a second run does it, with your plan and their note before it.`,
      'So say in the plan what you are going to do, in which files and with which commands, and what could go wrong. Print the whole plan as text and end; do not ask for anything that you can look up.',
    ].join('\n\n');
  const { plan, note, by } = gate;
  return [
    `${inLine(by)} has approved the plan below, and nothing beyond it. Do it now. If it turns out that something else is needed, do what you can of the plan, and say what is left.`,
    `Their note:\n\n${quoted(indented(note.trim(), `${MARK}${MARK}`), word)}`,
    `Your plan:\n\n${quoted(indented(plan.trim(), `${MARK}${MARK}`), word)}`,
  ].join('\n\n');
}

/** A note in force, as the prompt lists it. */
export interface NoteInPrompt {
  /** The suffix of its file name. */
  suffix: string;
  /** Day on which it was written, `YYYY-MM-DD`. */
  day: string;
  /** Kind of the note, unless it is an ordinary one. */
  kind?: string;
  name?: string;
  /** Audience of the note. */
  scope: 'you' | 'this channel' | 'all';
  subject: string;
}

/** Limits of the section (automation.md, "Memory"), and the most characters of one subject. */
export const NOTE_LIMITS = { lines: 200, bytes: 25 * 1024, subject: 300 };

const INTRODUCTION = 'Their texts: crosstalk memory show <the first word of the line>.';

/**
 * Lists the notes in force, one a line; empty when there are none. Anybody who can push writes subjects, so
 * they appear within the line as JSON strings.
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
  // A character cut in half at the end is left out.
  return `${text.slice(0, NOTE_LIMITS.subject).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A skill that messages of a batch request, as the prompt presents it. */
export interface SkillInPrompt {
  name: string;
  /** relPaths of the messages that request it. */
  refs: string[];
  /** Content for the actor; undefined if the skill is missing or not for this actor. */
  told?: {
    /** Path of its file in the transport. */
    path: string;
    body: string;
    /** Directory and names of its files; undefined when there are none. */
    files?: { dir: string; names: string[] };
    /** Its files that were left out, each with the reason. */
    left: string[];
  };
  /** Reason why the content is missing. */
  problem?: string;
}

/** Most messages that are listed for one skill; further ones are only counted. */
const MAX_REFS = 10;

/**
 * Returns the sections about the requested skills. The text of a skill is foreign text like any other: its lines cannot
 * pass for lines of the prompt (trust.md §4).
 *
 * @param word of this prompt
 * @returns one section for each skill, with its heading
 */
export function aboutSkills(skills: readonly SkillInPrompt[], word: string): string[] {
  return skills.map((skill) => {
    const { name, told } = skill;
    const text = told === undefined ? missing(skill) : present(skill, told, word);
    return `# ${HEADINGS.skill}: ${name}\n\n${text}`;
  });
}

function missing({ name, refs, problem = '' }: SkillInPrompt): string {
  return `The skill "${name}" was asked for by ${some(refs)}, and is not told here: ${inLine(problem)}. Go by the text of the message. If it means a skill, and is not just a text that begins with a slash, say in your answer that this skill was missing.`;
}

function some(refs: readonly string[]): string {
  const more = refs.length > MAX_REFS ? ` and ${String(refs.length - MAX_REFS)} more messages` : '';
  return `${refs.slice(0, MAX_REFS).join(', ')}${more}`;
}

function present(
  { name, refs }: SkillInPrompt,
  { path, body, files, left }: NonNullable<SkillInPrompt['told']>,
  word: string,
): string {
  const beside =
    files === undefined
      ? []
      : [
          // Their names may have blanks, and so be whole sentences.
          `Files that belong to it are in ${inLine(files.dir)}, read-only: ${files.names.map((file) => JSON.stringify(file)).join(', ')}.`,
        ];
  const missing = left.map((line) => `NOT there: ${inLine(line)}.`);
  return [
    [
      `What follows is the skill "${name}" (${path}), for which ${some(refs)} asked by beginning with /${name}; the rest of the message says to what it is applied.`,
      ...beside,
      ...missing,
    ].join('\n'),
    quoted(body.trim(), word),
  ].join('\n\n');
}
