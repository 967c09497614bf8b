/** A character that ends the part of a URL that names a host and who asks. */
const AUTHORITY_END = /[\s/?#<>]/g;
/** `name=value` in a query or fragment. */
const PARAMETER = /([?&;#][\w.-]{1,64}=)([^\s&;#'"<>]*)/g;
const SECRET = /token|secret|passw|pwd|auth|key|credential|signature|sig=|jwt|session|pat=/i;
/** What does not belong to a word that stands before `@`. */
const BEFORE_WORD = /[\s/'"`<>()[\]{}=,;]/;
/** `host:path` of ssh, behind `@`. */
const HOST = /[A-Za-z0-9.-]+:(?=\S)/y;
/** Characters of the path behind such a host that are looked at. */
const PATH_LOOK = 200;

/**
 * A text as it may be printed (trust.md §5): no user and no password in a URL or in `user@host:path`,
 * as a user's name may be a token, and no secret in the query of a URL. Takes time that grows with the
 * text. Too much is taken out rather than too little.
 */
export function withoutCredentials(text: string): string {
  const urls = text.includes('://') ? withoutUsers(text) : text;
  const plain = urls.includes('@') ? withoutSshUsers(urls) : urls;
  if (!/[?&;#]/.test(plain)) return plain;
  return plain.replace(PARAMETER, (whole, name: string) =>
    SECRET.test(name) ? `${name}***` : whole,
  );
}

/** The same for every text in a value, such as the fields of a log event. */
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
  for (let mark = text.indexOf('://'); mark >= 0; mark = text.indexOf('://', at)) {
    const start = mark + 3;
    AUTHORITY_END.lastIndex = start;
    const end = AUTHORITY_END.exec(text)?.index ?? text.length;
    const authority = text.slice(start, end);
    // The last one: a password may hold others.
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
    // Where the word before it starts; nothing is looked at twice.
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

/** What lets a browser in at `crosstalk web`. */
const WEB_TOKEN = 'CROSSTALK_WEB_TOKEN';

/** The environment for what this process starts: editors, agent CLIs and git have no use for the token. */
export function withoutWebToken(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name !== WEB_TOKEN));
}
