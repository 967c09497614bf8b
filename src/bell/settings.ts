import { createHash } from 'node:crypto';
import { serversIn, serverUrl, shownServers } from '../protocol/text/bell-servers.ts';
import { parsed, shown, unreadable, type Parsed } from '../protocol/text/result.ts';

/** Settings of the bell from git's configuration (`crosstalk.bell…`), unparsed. */
export interface BellConfig {
  /** `crosstalk.bell`: addresses of NATS servers, separated by commas or spaces. */
  servers: string;
  /** `crosstalk.bellCredentials`: the path of a credentials file, as NATS makes them. */
  credentials?: string;
  /** `crosstalk.bellCa`: the path of the certificates that sign those of the servers, in PEM. */
  ca?: string;
  /** `crosstalk.bellCert`: the path of the certificate that this machine presents. */
  cert?: string;
  /** `crosstalk.bellKey`: the path of the key of that certificate. */
  key?: string;
  /** `crosstalk.bellName`: the name of the bus on the server, if machines reach the bus by different URLs. */
  name?: string;
}

/** Parsed settings of a bell: its servers, and the credentials for them. */
export interface BellSettings {
  /** `host:port` each. */
  servers: string[];
  /** Whether a connection without TLS is refused. */
  tls: boolean;
  user?: string;
  password?: string;
  /** Absolute paths. */
  files: { credentials?: string; ca?: string; cert?: string; key?: string };
  /** Prefix of the subjects of the bus, which reveals nothing about the bus. */
  subject: string;
}

const PORT = '4222';
const MOST_SERVERS = 32;

/**
 * Parses the settings of a bell.
 *
 * @param origin the remote's URL, from which the subject is derived unless a name is given
 * @param home for paths that begin with `~/`
 */
export function parseBell(
  config: BellConfig,
  origin: string,
  home: string | undefined,
): Parsed<BellSettings> {
  const problems: string[] = [];
  const found = serversIn(config.servers);
  if (found.length === 0) problems.push('crosstalk.bell is empty; set it to nats://<host>:4222');
  if (found.length > MOST_SERVERS)
    problems.push(`crosstalk.bell names ${String(found.length)} servers; 32 at most`);
  const urls = found.slice(0, MOST_SERVERS).flatMap((text) => serverUrl(text) ?? []);
  if (found.length <= MOST_SERVERS && urls.length < found.length)
    problems.push(notServers(config.servers, found));
  const { credentials, ca, cert, key } = config;
  const files: BellSettings['files'] = {};
  for (const [name, path] of Object.entries({ credentials, ca, cert, key })) {
    if (path === undefined) continue;
    const whole = path.startsWith('~/') && home !== undefined ? home + path.slice(1) : path;
    if (whole.startsWith('/')) files[name as keyof typeof files] = whole;
    else
      problems.push(
        `crosstalk.bell${name} is ${shown(path)}; give an absolute path, or one that begins with ~/`,
      );
  }
  if ((cert === undefined) !== (key === undefined))
    problems.push('crosstalk.bellCert and crosstalk.bellKey belong together; set both');
  if (problems.length > 0) return unreadable(...problems);
  const [first] = urls;
  const tls = urls.some(({ protocol }) => protocol === 'tls:') || ca !== undefined;
  return parsed({
    servers: urls.map(({ hostname, port }) => `${hostname}:${port === '' ? PORT : port}`),
    tls: tls || cert !== undefined,
    ...(first !== undefined && first.username !== '' && { user: decoded(first.username) }),
    ...(first !== undefined && first.password !== '' && { password: decoded(first.password) }),
    files,
    subject: subjectOf(config.name ?? plainOrigin(origin)),
  });
}

/**
 * Returns the entries that are not servers, as they may be shown: a reader of a line of `status` need not
 * know the password.
 */
function notServers(servers: string, found: readonly string[]): string {
  const hasLogin = servers.includes('@');
  const plain = hasLogin
    ? shownServers(servers)
    : found.filter((one) => serverUrl(one) === undefined).join(', ');
  const next = hasLogin ? '; in a password, write what is no letter or digit as %2F for /' : '';
  return `crosstalk.bell names ${shown(plain)}, which is no server of NATS; expected nats://<host>:<port>, or tls://${next}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Derives the subject of a bus. A listener to all subjects of a server learns that a bus exists, but not
 * which: its subject can be found only by those who know the bus's address, or the name that it was given.
 */
function subjectOf(name: string): string {
  const digest = createHash('sha256').update(`crosstalk bell of ${name}`).digest('hex');
  return `crosstalk.${digest.slice(0, 32)}`;
}

/** Returns a remote's URL without the parts that differ between the machines that use it: scheme, user and port. */
export function plainOrigin(origin: string): string {
  const [, host = '', path = ''] =
    /^[A-Za-z][\w+.-]*:\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^/:]*)(?::\d+)?(\/.*)?$/.exec(origin) ??
      /^(?:[^@/:]+@)?([^/:]+):(.*)$/.exec(origin) ?? ['', '', origin];
  const trimmed = path.replace(/^\/+/, '').replace(/(?<!\/)\/*$/, '');
  return `${host.toLowerCase()}/${trimmed.replace(/\.git$/, '')}`;
}
