import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import {
  createConnection,
  createServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { until } from './wait.ts';

/** Why sshd cannot be run here, or undefined. */
export function sshMissing(): string | undefined {
  if (!existsSync('/usr/sbin/sshd')) return 'no sshd: apt-get install openssh-server';
  return process.getuid?.() === 0 ? undefined : 'sshd needs to be started by root here';
}

/** Starts a real sshd on loopback with its own keys; returns the command that git has to use. */
export async function startSshd(
  root: string,
): Promise<{ command: string; port: number; badCommand: string }> {
  mkdirSync('/run/sshd', { recursive: true });
  const key = (name: string): string => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(root, name)]);
    return join(root, name);
  };
  const [hostKey, userKey, strangerKey] = [key('host'), key('user'), key('stranger')];
  writeFileSync(join(root, 'authorized_keys'), readFileSync(`${userKey}.pub`), { mode: 0o600 });
  const port = await freePort();
  const settings = [
    `Port ${String(port)}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${join(root, 'authorized_keys')}`,
    'PasswordAuthentication no',
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    `PidFile ${join(root, 'sshd.pid')}`,
    'LogLevel VERBOSE',
  ];
  writeFileSync(join(root, 'sshd_config'), `${settings.join('\n')}\n`);
  const child = spawn(
    '/usr/sbin/sshd',
    ['-D', '-E', join(root, 'sshd.log'), '-f', join(root, 'sshd_config')],
    {
      stdio: 'ignore',
    },
  );
  endWithTest(child);
  await until('sshd', () => canConnect(port));
  const command = (identity: string): string =>
    `ssh -p ${String(port)} -i ${identity} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`;
  return { port, command: command(userKey), badCommand: command(strangerKey) };
}

/** Serves repositories below `root` by smart HTTP through git's own http-backend, with a password. */
export async function startHttp(root: string, login: string): Promise<string> {
  const expected = `Basic ${Buffer.from(login).toString('base64')}`;
  const server = createHttpServer((request, response) => {
    if (request.headers.authorization !== expected) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="bus"' }).end();
      return;
    }
    backend(root, request, response);
  });
  return `127.0.0.1:${String(await listening(server))}`;
}

function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'somebody',
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.once('close', () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf('\r\n\r\n');
    const headers = all
      .subarray(0, end)
      .toString('latin1')
      .split('\r\n')
      .map((line) => line.split(': '));
    const status = headers.find(([name]) => name === 'Status')?.[1];
    response.statusCode = Number(status?.split(' ')[0] ?? '200');
    for (const [name = '', value = ''] of headers)
      if (name !== 'Status') response.setHeader(name, value);
    response.end(all.subarray(end + 4));
  });
}

/** A server that accepts connections and never answers. */
export async function startSilent(): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
  });
  return `127.0.0.1:${String(await listening(server))}`;
}

/** Passes everything on to another port, delaying each piece by `delay()` milliseconds. */
export async function startSlow(port: number, delay: () => number): Promise<string> {
  const server = createServer((near) => {
    const far = createConnection(port, '127.0.0.1');
    const pass = (from: Socket, to: Socket): void => {
      let last = Promise.resolve();
      const late = (act: () => void): void => {
        const due = sleep(delay());
        last = last.then(() => due).then(act);
      };
      from.on('data', (chunk) => {
        late(() => to.write(chunk));
      });
      from.on('end', () => {
        late(() => to.end());
      });
      from.on('error', () => to.destroy());
    };
    pass(near, far);
    pass(far, near);
  });
  return `127.0.0.1:${String(await listening(server))}`;
}

/**
 * Passes everything on to another port, in both directions with a limited number of bytes per
 * second.
 */
export async function startThrottled(port: number, bytesPerSecond: number): Promise<string> {
  const server = createServer((near) => {
    const far = createConnection(port, '127.0.0.1');
    const pass = async (from: Socket, to: Socket): Promise<void> => {
      for await (const chunk of from) {
        await sleep(((chunk as Buffer).length / bytesPerSecond) * 1000);
        to.write(chunk as Buffer);
      }
      to.end();
    };
    void pass(near, far).catch(() => far.destroy());
    void pass(far, near).catch(() => near.destroy());
  });
  return `127.0.0.1:${String(await listening(server))}`;
}

async function listening(server: Server): Promise<number> {
  const sockets = new Set<{ destroy: () => void }>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

function endWithTest(child: ChildProcess): void {
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await gone;
  });
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}
