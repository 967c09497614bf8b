/** A character that ends the part of a URL that holds the user and the host. */
const AUTHORITY_END = /[\s/?#<>]/g;
/** `name=value` in a query or fragment. */
const PARAMETER = /([?&;#][\w.-]{1,64}=)([^\s&;#'"<>]*)/g;
const SECRET = /token|secret|passw|pwd|auth|key|credential|signature|sig=|jwt|session|pat=/i;
/** A character that cannot be part of the word before `@`. */
const BEFORE_WORD = /[\s/'"`<>()[\]{}=,;]/;
/** The `host:path` of an ssh address, after `@`. */
const HOST = /[A-Za-z0-9.-]+:(?=\S)/y;
/** Number of characters of the path after such a host that are examined. */
const PATH_LOOK = 200;

/**
 * Removes credentials from a text, so that it may be printed (trust.md §5): users and passwords in
 * URLs and in `user@host:path`, because a user's name may be a token, and secrets in the query of a
 * URL. In doubt it removes too much rather than too little. The time it takes is linear in the
 * length of the text.
 */
export function withoutCredentials(text: string): string {
  const urls = text.includes('://') ? withoutUsers(text) : text;
  const plain = urls.includes('@') ? withoutSshUsers(urls) : urls;
  if (!/[?&;#]/.test(plain)) return plain;
  return plain.replace(PARAMETER, (whole, name: string) =>
    SECRET.test(name) ? `${name}***` : whole,
  );
}

/** Removes credentials from every text in a value, such as the fields of a log event. */
export function withoutCredentialsIn<T>(value: T): T {
  if (typeof value === 'string') return withoutCredentials(value) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => withoutCredentialsIn(one)) as T;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const fields = Object.entries(value).map(([key, one]): [string, unknown] => [
    key,
    withoutCredentialsIn(one),
  ]);
  return Object.fromEntries(fields) as T;
}

function withoutUsers(text: string): string {
  const parts: string[] = [];
  let at = 0;
  // In a list with commas, the scheme of the next URL is taken for the end of a host.
  for (let mark = text.indexOf('://'); mark >= 0; mark = text.indexOf('://', at - 1)) {
    const start = mark + 3;
    AUTHORITY_END.lastIndex = start;
    const end = AUTHORITY_END.exec(text)?.index ?? text.length;
    const authority = text.slice(start, end);
    // The last `@` counts, because a password may contain others.
    parts.push(text.slice(at, start), authority.slice(authority.lastIndexOf('@') + 1));
    at = end;
  }
  return parts.join('') + text.slice(at);
}

function withoutSshUsers(text: string): string {
  const parts: string[] = [];
  let at = 0;
  let start = 0;
  let looked = 0;
  for (let mark = text.indexOf('@'); mark >= 0; mark = text.indexOf('@', mark + 1)) {
    // Find where the word before the mark starts; no character is examined twice.
    for (; looked < mark; looked++) if (BEFORE_WORD.test(text[looked] ?? '')) start = looked + 1;
    HOST.lastIndex = mark + 1;
    const host = HOST.exec(text)?.[0];
    if (host === undefined || start === mark) continue;
    const behind = mark + 1 + host.length;
    const path = /^\S*/.exec(text.slice(behind, behind + PATH_LOOK))?.[0] ?? '';
    const isAddress = text.slice(start, mark).includes(':') || /\/|\.git\b/.test(path);
    if (!isAddress) continue;
    parts.push(text.slice(at, start));
    at = mark + 1;
    start = at;
  }
  return parts.join('') + text.slice(at);
}

/** The variable with the token that a browser needs for `crosstalk web`. */
const WEB_TOKEN = 'CROSSTALK_WEB_TOKEN';

/** Returns the environment for programs that this process starts: editors, agent CLIs and git do not need the token. */
export function withoutWebToken(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name !== WEB_TOKEN));
}
