import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { nkeys } from '@nats-io/transport-node';
import { onTestFinished } from 'vitest';
import { freePort } from './servers.ts';
import { until } from './wait.ts';

const PLACES = ['/usr/sbin/nats-server', '/usr/bin/nats-server', '/usr/local/bin/nats-server'];

/** Why no NATS server can be run here, or undefined. */
export function natsMissing(): string | undefined {
  return PLACES.some((path) => existsSync(path))
    ? undefined
    : 'no nats-server: apt-get install nats-server';
}

/** What the name of a test ends with where it is skipped. */
export const skippedWithoutNats =
  natsMissing() === undefined ? '' : ` (skipped, ${natsMissing() ?? ''})`;

/** A real nats-server on loopback, with lines of its configuration. */
export class Nats {
  readonly port: number;
  readonly #file: string;
  #child: ChildProcess | undefined;

  private constructor(port: number, file: string) {
    this.port = port;
    this.#file = file;
  }

  get url(): string {
    return `nats://127.0.0.1:${String(this.port)}`;
  }

  /** @param folder where its configuration lies; @param config further lines of it */
  static async start(folder: string, config = ''): Promise<Nats> {
    const port = await freePort();
    const file = join(folder, `nats-${String(port)}.conf`);
    writeFileSync(file, `listen: "127.0.0.1:${String(port)}"\n${config}\n`);
    const nats = new Nats(port, file);
    onTestFinished(() => nats.stop());
    await nats.start();
    return nats;
  }

  /** A cluster of servers that know of each other. */
  static async cluster(folder: string, count: number): Promise<Nats[]> {
    const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
    const routes = ports.map((port) => `"nats://127.0.0.1:${String(port)}"`).join(', ');
    const servers: Nats[] = [];
    for (const port of ports) {
      const own = `listen: "127.0.0.1:${String(port)}", routes: [${routes}]`;
      servers.push(
        await Nats.start(folder, `server_name: "n${String(port)}"\ncluster: { name: c, ${own} }`),
      );
    }
    return servers;
  }

  async start(): Promise<void> {
    const program = PLACES.find((path) => existsSync(path)) ?? 'nats-server';
    this.#child = spawn(program, ['-c', this.#file], { stdio: 'ignore' });
    await until('the NATS server', () => this.#answers());
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    await gone;
  }

  /** It keeps its connections, and says nothing any more. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = createConnection(this.port, '127.0.0.1');
      socket.once('data', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => {
        resolve(false);
      });
    });
  }
}

/** Certificates of an authority of the test's own, and one of it for a server on loopback. */
export function certificates(folder: string): { ca: string; cert: string; key: string } {
  mkdirSync(folder, { recursive: true });
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { stdio: 'ignore' });
  };
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const own = ['-keyout', at('ca.key'), '-out', at('ca.pem'), '-subj', '/CN=test authority'];
  openssl('req', '-x509', ...fresh, ...own, '-days', '2');
  const asked = ['-keyout', at('key.pem'), '-out', at('server.csr'), '-subj', '/CN=server'];
  openssl('req', ...fresh, ...asked);
  writeFileSync(at('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2'];
  openssl(
    ...['x509', '-req', '-in', at('server.csr'), ...signed, '-extfile', at('names')],
    ...['-out', at('cert.pem')],
  );
  return { ca: at('ca.pem'), cert: at('cert.pem'), key: at('key.pem') };
}

/**
 * An operator with one account, as `nsc` makes them: what the server's configuration needs, and the
 * text of the credentials file of a new user.
 */
export function operator(): { config: string; user: () => string } {
  const [top, account] = [nkeys.createOperator(), nkeys.createAccount()];
  const text = (seed: Uint8Array): string => Buffer.from(seed).toString('utf8');
  const encode = (value: unknown): string =>
    Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = (issuer: typeof top, subject: string, nats: object): string => {
    const claims = {
      jti: subject,
      iat: 1_700_000_000,
      iss: issuer.getPublicKey(),
      name: 'test',
      sub: subject,
      nats: { version: 2, ...nats },
    };
    const signed = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode(claims)}`;
    const signature = Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url');
    return `${signed}.${signature}`;
  };
  const limits = { subs: -1, data: -1, payload: -1 };
  const wide = { ...limits, conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true };
  const ofAccount = token(top, account.getPublicKey(), { type: 'account', limits: wide });
  const config = [
    `operator: ${token(top, top.getPublicKey(), { type: 'operator' })}`,
    'resolver: MEMORY',
    `resolver_preload: { ${account.getPublicKey()}: ${ofAccount} }`,
  ];
  return {
    config: config.join('\n'),
    user: () => {
      const user = nkeys.createUser();
      const jwt = token(account, user.getPublicKey(), {
        type: 'user',
        pub: {},
        sub: {},
        ...limits,
      });
      return [
        '-----BEGIN NATS USER JWT-----',
        jwt,
        '------END NATS USER JWT------',
        '',
        '-----BEGIN USER NKEY SEED-----',
        text(user.getSeed()),
        '------END USER NKEY SEED------',
        '',
      ].join('\n');
    },
  };
}
