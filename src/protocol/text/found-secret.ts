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
