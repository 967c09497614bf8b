/** Something that looks like a secret, told without showing it. Stored and printed under these names. */
export interface FoundSecret {
  /** What it looks like, such as `a GitHub token`. */
  kind: string;
  /** In what it stands: `the message`, an attached file by its number, or the path of a file. */
  where: string;
  /** The line, from 1; 0 for what is in the header of a message, or in the name of a file. */
  line: number;
}

/** The most places that are named. */
const NAMED = 3;

/** Where the secrets are, in one line that shows none of them. */
export function saidSecrets(found: readonly FoundSecret[]): string {
  const places = new Set(
    found.map(
      ({ kind, where, line }) =>
        `${kind} in ${line === 0 ? `the header or name of ${where}` : `line ${String(line)} of ${where}`}`,
    ),
  );
  const named = [...places].slice(0, NAMED).join(', ');
  const more = places.size - NAMED;
  return more > 0 ? `${named} and ${String(more)} more` : named.replace(/^$/, 'something');
}

/** A shorter value may stand anywhere by chance. */
const LEAST = 8;
/** How often a value may be quoted as JSON: the result of a tool stands in JSON that stands in JSON. */
const MOST_QUOTED = 2;

/** The value of a secret in the forms in which a program prints it; none for one that is too short. */
export function formsOf(value: string): string[] {
  if (value.length < LEAST) return [];
  const forms = [value];
  for (let times = 0; times < MOST_QUOTED; times++)
    forms.push(JSON.stringify(forms.at(-1)).slice(1, -1));
  return [...new Set(forms)];
}

/** Puts names into the places of secrets, in what a run prints. */
export class Concealer {
  /** A form as its bytes, each of which is a character, and what is shown instead; the longest first. */
  readonly #forms: readonly (readonly [form: string, shown: string])[];

  /** @param secrets values by name */
  constructor(secrets: ReadonlyMap<string, string>) {
    this.#forms = [...secrets]
      .flatMap(([name, value]) =>
        formsOf(value).map((form) => [bytesOf(form), `[secret ${name}]`] as const),
      )
      .sort(([a], [b]) => b.length - a.length);
  }

  /** A whole text. */
  text(text: string): string {
    if (this.#forms.length === 0) return text;
    return Buffer.from(this.#replaced(bytesOf(text)), 'latin1').toString('utf8');
  }

  /**
   * A stream of bytes, in pieces that may end within a secret: what may be the beginning of one is kept
   * back until it is known.
   *
   * @returns takes a piece and returns what can be shown; without one, the rest
   */
  stream(): (piece?: Buffer) => Buffer {
    let rest = '';
    return (piece) => {
      if (this.#forms.length === 0) return piece ?? Buffer.alloc(0);
      const all = this.#replaced(rest + (piece?.toString('latin1') ?? ''));
      const from = piece === undefined ? all.length : this.#begun(all);
      rest = all.slice(from);
      return Buffer.from(all.slice(0, from), 'latin1');
    };
  }

  #replaced(bytes: string): string {
    return this.#forms.reduce((all, [form, shown]) => all.replaceAll(form, () => shown), bytes);
  }

  /** Where the longest end of a text begins with which a secret may begin. */
  #begun(bytes: string): number {
    const longest = this.#forms[0]?.[0].length ?? 0;
    for (let at = Math.max(0, bytes.length - longest + 1); at < bytes.length; at++)
      if (this.#forms.some(([form]) => form.startsWith(bytes.slice(at)))) return at;
    return bytes.length;
  }
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
