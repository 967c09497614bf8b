import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { takeCensus } from '../operations/health/census.ts';
import type { Context } from '../operations/context.ts';
import { openAddresses, publicUrlOf } from './addresses.ts';
import { makeApp } from './app.ts';
import { isLoopback } from './guard.ts';
import { makeParts } from './parts.ts';

export interface WebOptions {
  host: string;
  /** 0 for any free port. */
  port: number;
  /** By default a random token. */
  token?: string;
  /** What a tunnel or proxy shows the server as, such as `https://bus.example.org`. */
  publicUrl?: string;
  readOnly: boolean;
  /** Decisions may be made on the page although other machines can reach it. */
  allowApprove?: boolean;
  login: string;
  stop: AbortSignal;
}

export interface ServerAddress {
  /** The addresses, including the token; the first is for this machine, or the public one. */
  urls: [string, ...string[]];
  port: number;
  token: string;
}

/** Milliseconds that connections are given to end. */
const GRACE_MS = 500;
/** Milliseconds for the last pushes; sent messages are safe even if they take longer. */
const LAST_PUSH_MS = 5000;
const LEAST_TOKEN = 16;
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;

/**
 * Serves the page and its API until `stop`.
 *
 * @param listening receives the address
 * @throws CrosstalkError `usage` for a token that is too short or missing or a public address that is
 *   none, `refused` when the port
 *   is taken or the address does not belong to this machine
 */
export async function serveWeb(
  given: Context,
  options: WebOptions,
  listening: (address: ServerAddress) => Promise<void> | void,
): Promise<void> {
  const { host, port, readOnly, login, stop } = options;
  const token = tokenOf(options);
  const publicUrl = options.publicUrl === undefined ? undefined : publicUrlOf(options.publicUrl);
  const context: Context = { ...given, isFollowed: true };
  const packages = await import('./web-packages.ts');
  const closing = new AbortController();
  // Each stream listens to this signal.
  setMaxListeners(0, closing.signal);
  const close = (): void => {
    closing.abort();
  };
  const epoch = randomBytes(4).toString('hex');
  const isOwn = isLoopback(host) && (publicUrl === undefined || isLoopback(publicUrl.hostname));
  const mayDecide = !readOnly && (isOwn || options.allowApprove === true);
  const parts = makeParts({
    context,
    token,
    login,
    readOnly,
    mayDecide,
    stop: closing.signal,
    epoch,
  });
  const door = { host, bound: host, port, hostname: context.hostname, publicUrl };
  const app = makeApp(packages, parts, { token, door: () => door });
  const server = packages.createAdaptorServer({
    fetch: app.fetch,
    createServer,
    overrideGlobalObjects: false,
  }) as Server;
  Object.assign(door, await listen(server, host, port));
  stop.addEventListener('abort', close, { once: true });
  if (stop.aborted) close();
  try {
    const { done } = await parts.hub.start(closing.signal);
    // Prepares the index and the newest messages for the first page.
    const ready = [takeCensus(context), parts.now.get()];
    void Promise.allSettled(ready);
    const [first = '', ...others] = openAddresses(door).map(
      (origin) => `${origin}/?token=${encodeURIComponent(token)}`,
    );
    await listening({ urls: [first, ...others], port: door.port, token });
    await done;
    await Promise.allSettled(ready);
    await Promise.race([
      Promise.allSettled(parts.pushes),
      sleep(LAST_PUSH_MS, undefined, { ref: false }),
    ]);
  } finally {
    close();
    stop.removeEventListener('abort', close);
    await end(server);
  }
}

function tokenOf({ host, token }: WebOptions): string {
  if (token === undefined) {
    if (isLoopback(host)) return randomBytes(32).toString('base64url');
    throw new CrosstalkError(
      'usage',
      `--host ${host} lets other machines in, which takes a token of your own: at least ${String(LEAST_TOKEN)} characters, with --token or CROSSTALK_WEB_TOKEN. Whoever has it reads every message and sends as you, and http hides neither from the network`,
    );
  }
  if (token.length >= LEAST_TOKEN && TOKEN.test(token)) return token;
  throw new CrosstalkError(
    'usage',
    `the token has ${String(token.length)} characters, expected at least ${String(LEAST_TOKEN)} letters, digits and . _ ~ + / = -; make one with: openssl rand -hex 32`,
  );
}

async function listen(
  server: Server,
  host: string,
  port: number,
): Promise<{ bound: string; port: number }> {
  server.listen({ port, host, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? 'is taken by another program; choose another with --port, or 0 for any that is free'
        : `cannot be listened on: ${reasonOf(error)}; choose others with --host and --port`;
    throw new CrosstalkError('refused', `port ${String(port)} of ${host} ${why}`, { cause: error });
  }
  const { address: bound, port: given } = server.address() as AddressInfo;
  return { bound, port: given };
}

async function end(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    server.closeAllConnections();
  }, GRACE_MS);
  await closed;
  clearTimeout(timer);
}
