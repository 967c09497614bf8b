import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Machine, World } from './world.ts';

const SERVER = '/usr/sbin/nats-server';

/** Whether there can be a bell here; says what is missing if there can be none. */
export function hasNats(suite: string): boolean {
  if (existsSync(SERVER)) return true;
  process.stderr.write(`${suite}: no ${SERVER}, so no bell: apt-get install nats-server\n`);
  return false;
}

/** A server on loopback, ended with the world; its address. */
export async function serveNats(world: World): Promise<string> {
  const port = await freePort();
  const child = spawn(SERVER, ['-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  world.track(child);
  while (!(await answers(port))) await sleep(20);
  return `nats://127.0.0.1:${String(port)}`;
}

/** Sets the bell of a machine, as its operator does and approves. */
export async function withBell(machine: Machine, url: string): Promise<void> {
  await machine.world.git(machine.dir, 'config', 'crosstalk.bell', url);
  const { out } = await machine.run('host', 'show', '--json');
  const { held } = JSON.parse(out) as { held: { digest: string }[] };
  await machine.run('host', 'approve', ...held.map(({ digest }) => digest));
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}
