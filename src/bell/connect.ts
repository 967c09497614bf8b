import { readFile } from 'node:fs/promises';
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { shown } from '../protocol/text/result.ts';
import { guardConnections } from './guard.ts';
import type { BellSettings } from './settings.ts';

/** Milliseconds in which a server has to let us in. */
const CONNECT_MS = 5000;
/** Milliseconds between two signs of life; a server that gives none twice is taken to be gone. */
const PING_MS = 10_000;

/**
 * Connects to one of the servers of a bell. Only those that were set are asked: a server cannot send us
 * to others.
 *
 * @param settings `echo`: whether what is said here is heard here as well
 * @throws CrosstalkError `refused` with what to do about it
 */
export async function connectBell(
  settings: BellSettings,
  { echo }: { echo: boolean },
): Promise<NatsConnection> {
  const packages = await import('./nats-packages.ts');
  guardConnections(packages);
  const { servers, tls, user, password, files } = settings;
  const creds = await content(files.credentials, 'crosstalk.bellCredentials');
  const ca = await content(files.ca, 'crosstalk.bellCa');
  const cert = await content(files.cert, 'crosstalk.bellCert');
  const key = await content(files.key, 'crosstalk.bellKey');
  const options: ConnectionOptions = {
    servers,
    name: 'crosstalk',
    // What comes of a connection that is lost is decided in one place (line.ts).
    reconnect: false,
    ignoreClusterUpdates: true,
    noEcho: !echo,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    ...(tls && {
      tls: {
        ...(ca && { ca: ca.toString('utf8') }),
        ...(cert && { cert: cert.toString('utf8') }),
        ...(key && { key: key.toString('utf8') }),
      },
    }),
    ...(creds && { authenticator: packages.credsAuthenticator(creds) }),
    // A name without a password is a token, as with NATS's own tools.
    ...(user !== undefined &&
      (password === undefined ? { token: user } : { user, pass: password })),
  };
  try {
    return await packages.connect(options);
  } catch (error) {
    throw new CrosstalkError('refused', explained(error, settings), { cause: error });
  }
}

/**
 * Resolves when the server refuses to let us say something: then it is set up wrongly.
 *
 * @returns why it does, or why the connection is over
 */
export async function refusalIn(connection: NatsConnection): Promise<string> {
  for await (const status of connection.status())
    if (status.type === 'error' && status.error.name === 'PermissionViolationError')
      return `${shown(status.error.message)}; ask the operator of the server for the right`;
  return endOf(connection);
}

/** Resolves when a connection is over, with the reason; the server may have chosen its words. */
async function endOf(connection: NatsConnection): Promise<string> {
  const error = await connection.closed();
  return error ? shown(error.message) : 'the server ended it';
}

async function content(path: string | undefined, setting: string): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    throw new CrosstalkError(
      'refused',
      `${setting} cannot be read: ${reasonOf(error)}; name a file that is there`,
      { cause: error },
    );
  }
}

/** Why there is no connection, and what to do. */
function explained(error: unknown, { servers, tls, files, user }: BellSettings): string {
  const where = servers.join(', ');
  const reason = reasonOf(error);
  if (/authorization violation|authentication/i.test(reason)) {
    const shows = files.credentials ?? (user === undefined ? 'none' : 'those of the address');
    return `${where} refuses the credentials (${shows}); get valid ones, and name their file: git config crosstalk.bellCredentials <file>`;
  }
  if (reason.includes('unable to parse credentials'))
    return `crosstalk.bellCredentials ${files.credentials ?? ''} holds no credentials of NATS; name the .creds file that the server's operator made`;
  if (/certificate|self.signed|TLS|SSL|issuer/i.test(reason)) {
    const next = tls
      ? 'name the certificates that sign those of the server: git config crosstalk.bellCa <file>'
      : 'use tls:// in crosstalk.bell';
    return `${where}: no safe connection: ${shown(reason)}; ${next}`;
  }
  if (/timeout|refused|ENOTFOUND|EAI_AGAIN|EHOST|ENET|reset/i.test(reason))
    return `${where} cannot be reached: ${shown(reason)}; see that a NATS server runs there, and that the address is right: git config crosstalk.bell`;
  return `${where} does not answer as a NATS server: ${shown(reason)}; see git config crosstalk.bell`;
}
