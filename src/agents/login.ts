/** The file with the login of a CLI, relative to HOME, and the fields that a run may renew. */
export interface Login {
  file: string;
  /** Absent if nothing is copied back, because the renewing token stays valid. */
  renewal?: Renewal;
}

/** Fields of a login, each by its path of names. */
interface Renewal {
  /** Whether the login has an entry for each provider, of which those of the type `oauth` can be renewed. */
  entries?: boolean;
  tokens: readonly (readonly string[])[];
  /** Time of its expiry, in milliseconds, or of its renewal; it has to increase. */
  time: readonly string[];
  /** Fields that identify the owner of the login. */
  same: readonly (readonly string[])[];
}

type Json = Record<string, unknown>;

/** RFC 6750, `b64token`: neither a command nor an address has this form. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const LONGEST = 16 * 1024;
const YEAR_MS = 366 * 24 * 3_600_000;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/**
 * Returns the operator's login with the tokens that a run has renewed in its copy, and nothing else from the copy. The
 * operator's own changes since then stay.
 *
 * @param given the login from which the copy was made
 * @param now milliseconds
 * @returns undefined if nothing was renewed
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

/** Whether a token may replace another one. */
function follows(old: unknown, token: unknown): boolean {
  if (typeof old !== 'string' || old === '' || typeof token !== 'string') return false;
  if (token.length > LONGEST || !TOKEN.test(token)) return false;
  const whose = ownerIn(old);
  return whose === undefined || whose === ownerIn(token);
}

/** Returns the owner of a token, if the token states it (RFC 7519); most are opaque. */
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

/** Sets an existing field. */
function set(value: Json, path: readonly string[], to: unknown): void {
  const above = at(value, path.slice(0, -1)) as Json;
  above[path.at(-1) ?? ''] = to;
}
