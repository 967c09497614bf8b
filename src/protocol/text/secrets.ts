/** A probable secret, described without showing it. Stored and printed under these names. */
export interface FoundSecret {
  /** Kind of secret, such as `a GitHub token`. */
  kind: string;
  /** Place of the secret: `the message`, an attached file by its number, or the path of a file. */
  where: string;
  /** Line of the secret, from 1; 0 in the header of a message, or in the name of a file. */
  line: number;
}

/** Most places that are listed. */
const NAMED = 3;

/** Lists the places of the secrets, in one line that shows none of them. */
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

/** Fewest characters of a secret that is recognized; a shorter value may occur anywhere by chance. */
const LEAST = 8;
/** Most levels of JSON in which a value is recognized: the result of a tool is JSON within JSON. */
const MOST_QUOTED = 2;

/** Returns the value of a secret in the forms in which a program prints it; none for one that is too short. */
export function formsOf(value: string): string[] {
  if (value.length < LEAST) return [];
  const forms = [value];
  for (let times = 0; times < MOST_QUOTED; times++)
    forms.push(JSON.stringify(forms.at(-1)).slice(1, -1));
  return [...new Set(forms)];
}

/** A filter that replaces secrets in a run's output by their names. */
export class Concealer {
  /** Forms of the secrets, one character for each byte, and their replacements; the longest first. */
  readonly #forms: readonly (readonly [form: string, shown: string])[];

  /** @param secrets values by name */
  constructor(secrets: ReadonlyMap<string, string>) {
    this.#forms = [...secrets]
      .flatMap(([name, value]) =>
        formsOf(value).map((form) => [bytesOf(form), `[secret ${name}]`] as const),
      )
      .sort(([a], [b]) => b.length - a.length);
  }

  /** Filters a whole text. */
  text(text: string): string {
    if (this.#forms.length === 0) return text;
    return Buffer.from(this.#replaced(bytesOf(text)), 'latin1').toString('utf8');
  }

  /**
   * Filters a stream of bytes, in pieces that may end within a secret: a possible beginning of one is held back until
   * it is decided.
   *
   * @returns a function that takes a piece and returns the part that can be shown; without one, the rest
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

  /** Returns the start of the longest end of a text with which a secret may begin. */
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
