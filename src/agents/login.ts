/** The file with the login of a CLI, relative to HOME, and what a run may renew in it. */
export interface Login {
  file: string;
  /** Absent where nothing comes back, because what renews it stays valid. */
  renewal?: Renewal;
}

/** Fields of a login, each by the names that lead to it. */
interface Renewal {
  /** Whether it has an entry for each provider, of which those of the type `oauth` can be renewed. */
  entries?: boolean;
  tokens: readonly (readonly string[])[];
  /** Until when it holds, in milliseconds, or when it was renewed: it has to grow. */
  time: readonly string[];
  /** What says whose login it is. */
  same: readonly (readonly string[])[];
}

type Json = Record<string, unknown>;

/** RFC 6750, `b64token`: neither a command nor an address fits into it. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const LONGEST = 16 * 1024;
const YEAR_MS = 366 * 24 * 3_600_000;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/**
 * The operator's login with the tokens that a run has renewed in its copy, and nothing else of it. What the
 * operator has changed meanwhile stays.
 *
 * @param given what the copy was made from
 * @param now milliseconds
 * @returns undefined where nothing was renewed
 */
export function renewedLogin(
  renewal: Renewal,
  { login, given, copy }: { login: Json; given: Json; copy: Json },
  now: number,
): Json | undefined {
  const result = structuredClone(login);
  const entries = renewal.entries === true ? Object.keys(login).map((name) => [name]) : [[]];
  const renewed = entries.filter((entry) => {
    const isOauth = at(login, [...entry, 'type']) === 'oauth';
    if (renewal.entries === true && !isOauth) return false;
    const within = (path: readonly string[]): string[] => [...entry, ...path];
    const tokens = renewal.tokens.map(within);
    const same = [
      ...renewal.same.map(within),
      ...(renewal.entries === true ? [within(['type'])] : []),
    ];
    const time = within(renewal.time);
    const isRenewed =
      tokens.some((path) => at(copy, path) !== at(given, path)) &&
      tokens.every((path) => at(login, path) === at(given, path)) &&
      tokens.every((path) => follows(at(login, path), at(copy, path))) &&
      same.every((path) => at(login, path) === at(copy, path)) &&
      isLater(at(login, time), at(copy, time), now);
    if (isRenewed) for (const path of [...tokens, time]) set(result, path, at(copy, path));
    return isRenewed;
  });
  return renewed.length === 0 ? undefined : result;
}

/** Whether a token may take the place of another one. */
function follows(old: unknown, token: unknown): boolean {
  if (typeof old !== 'string' || old === '' || typeof token !== 'string') return false;
  if (token.length > LONGEST || !TOKEN.test(token)) return false;
  const whose = ownerIn(old);
  return whose === undefined || whose === ownerIn(token);
}

/** Whose a token is, if it says that (RFC 7519); most are opaque. */
function ownerIn(token: string): string | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Json;
    const account = at(claims, ['https://api.openai.com/auth', 'chatgpt_account_id']);
    return JSON.stringify([claims['iss'], claims['sub'], account]);
  } catch {
    return undefined;
  }
}

function isLater(old: unknown, time: unknown, now: number): boolean {
  if (typeof time === 'string')
    return TIME.test(time) && Date.parse(time) > Date.parse(String(old)) && Date.parse(time) <= now;
  return typeof old === 'number' && typeof time === 'number' && time > old && time <= now + YEAR_MS;
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Json)[name]
        : undefined,
    value,
  );
}

/** Sets a field that is there. */
function set(value: Json, path: readonly string[], to: unknown): void {
  const above = at(value, path.slice(0, -1)) as Json;
  above[path.at(-1) ?? ''] = to;
}
