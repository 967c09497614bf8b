import { createHash } from 'node:crypto';
import { serversIn, serverUrl, shownServers } from '../protocol/text/bell-servers.ts';
import { parsed, shown, unreadable, type Parsed } from '../protocol/text/result.ts';

/** What git's configuration says of the bell (`crosstalk.bell` and what belongs to it), as it stands. */
export interface BellConfig {
  /** `crosstalk.bell`: addresses of NATS servers, separated by commas or spaces. */
  servers: string;
  /** `crosstalk.bellCredentials`: the path of a credentials file, as NATS makes them. */
  credentials?: string;
  /** `crosstalk.bellCa`: the path of the certificates that sign those of the servers, in PEM. */
  ca?: string;
  /** `crosstalk.bellCert`: the path of the certificate that this machine shows. */
  cert?: string;
  /** `crosstalk.bellKey`: the path of the key of that certificate. */
  key?: string;
  /** `crosstalk.bellName`: what the bus is called there, where machines reach it by other URLs. */
  name?: string;
}

/** How the servers of a bell are reached. */
export interface BellSettings {
  /** `host:port` each. */
  servers: string[];
  /** Whether a connection without TLS is refused. */
  tls: boolean;
  user?: string;
  password?: string;
  /** Absolute paths. */
  files: { credentials?: string; ca?: string; cert?: string; key?: string };
  /** What begins the subjects of the bus; it tells nothing of it. */
  subject: string;
}

const PORT = '4222';
const MOST_SERVERS = 32;

/**
 * Reads the settings of a bell.
 *
 * @param origin the remote's URL, of which the subject is made unless a name is given
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

/** What is no server, as it may be shown: who may see a line of `status` need not know the password. */
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
 * Whoever listens on a server for all subjects learns that a bus exists, and not which: only who knows
 * its address, or the name that it was given, finds its subject.
 */
function subjectOf(name: string): string {
  const digest = createHash('sha256').update(`crosstalk bell of ${name}`).digest('hex');
  return `crosstalk.${digest.slice(0, 32)}`;
}

/**
 * A remote's URL without what differs between the machines that use it: how it is reached, as whom, and
 * on which port.
 */
export function plainOrigin(origin: string): string {
  const [, host = '', path = ''] =
    /^[A-Za-z][\w+.-]*:\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^/:]*)(?::\d+)?(\/.*)?$/.exec(origin) ??
      /^(?:[^@/:]+@)?([^/:]+):(.*)$/.exec(origin) ?? ['', '', origin];
  const trimmed = path.replace(/^\/+/, '').replace(/(?<!\/)\/*$/, '');
  return `${host.toLowerCase()}/${trimmed.replace(/\.git$/, '')}`;
}
