import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus } from '../support/bus.ts';
import { tried } from '../support/sandboxed.ts';
import { until } from '../support/wait.ts';

const backend = await findBackend(process.env);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const can = it.skipIf(!backend.ok);

/** A program of the operator's, which ends with the test. */
function started(words: readonly string[], cwd: string): ChildProcess {
  const [program = '', ...args] = words;
  const child = spawn(program, args, { cwd, stdio: 'ignore' });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

const dial = (path: string): string =>
  `node -e "require('net').connect('${path}').on('data',d=>process.exit(String(d)==='secret'?0:1)).on('error',()=>process.exit(1))"`;

/** Listens on a socket, bound by its name alone, and does something with it. */
const listen = (name: string, then = ''): string =>
  `const fs=require('fs');require('net').createServer(s=>s.end('secret')).listen('${name}',()=>{${then};fs.writeFileSync('ready-${name}','')})`;

can(
  `a run in a sandbox reaches no socket and no pipe of others, however it came to its name${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const home = join(bus.root, 'home');
    const work = join(home, 'work');
    const deep = join(work, 'some/folder');
    for (const folder of [deep, join(home, 'away')]) mkdirSync(folder, { recursive: true });
    const host = await bus.host('front', {});
    host.env['HOME'] = home;
    const node = process.execPath;
    started([node, '-e', listen('relative')], deep);
    started([node, '-e', listen('first', "fs.renameSync('first','renamed')")], work);
    started([node, '-e', listen('far', `fs.linkSync('far','${work}/linked')`)], join(home, 'away'));
    const apart = spawnSync('unshare', ['-n', 'true']).status === 0 ? ['unshare', '-n'] : [];
    started([...apart, node, '-e', listen('apart')], work);
    execFileSync('mkfifo', [join(deep, 'pipe')]);
    const got = join(home, 'away/got');
    started(['sh', '-c', `while :; do cat some/folder/pipe >> ${got}; done`], work);
    for (const [folder, name] of [
      [deep, 'relative'],
      [work, 'first'],
      [join(home, 'away'), 'far'],
      [work, 'apart'],
    ] as const)
      await until(`${name} to listen`, () => existsSync(join(folder, `ready-${name}`)));
    const commands = {
      'bound by a relative path': dial('some/folder/relative'),
      'bound and then renamed': dial('renamed'),
      'bound elsewhere and linked': dial('linked'),
      'bound in another network': dial('apart'),
      'a pipe': "timeout 5 sh -c 'echo from the run > some/folder/pipe'",
      '(a socket of its own)':
        "node -e \"const n=require('net');n.createServer(s=>s.end()).listen('own',()=>n.connect('own').on('close',()=>process.exit(0)))\"",
    };
    const boxed = await tried({ bus, host }, commands, {
      workdir: work,
      sandbox: { net: ['none'] },
    });
    expect(boxed.succeeded).toEqual(['(a socket of its own)']);
    expect(existsSync(got) ? readFileSync(got, 'utf8') : '').not.toContain('from the run');
    const free = await tried({ bus, host }, commands, { workdir: work });
    expect(free.succeeded).toEqual(Object.keys(commands).slice(0, 5));
    await until('the pipe', () => readFileSync(got, 'utf8').includes('from the run'));
  },
);

/** An sshd on loopback that lets in the key beside it. */
async function sshServer(folder: string): Promise<{ port: number; key: string }> {
  const key = join(folder, 'key');
  const quiet = { stdio: 'ignore' } as const;
  for (const name of ['host', 'key'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)], quiet);
  mkdirSync('/run/sshd', { recursive: true });
  const port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const found = (server.address() as AddressInfo).port;
      server.close(() => {
        resolve(found);
      });
    });
  });
  const settings = {
    ...{ Port: port, ListenAddress: '127.0.0.1', HostKey: join(folder, 'host'), PidFile: 'none' },
    ...{
      AuthorizedKeysFile: `${key}.pub`,
      StrictModes: 'no',
      UsePAM: 'no',
      PermitRootLogin: 'yes',
    },
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${String(value)}\n`);
  writeFileSync(join(folder, 'config'), lines.join(''));
  started(['/usr/sbin/sshd', '-D', '-e', '-f', join(folder, 'config')], folder);
  return { port, key };
}

const hasSsh = existsSync('/usr/sbin/sshd') && process.getuid?.() === 0;

it.skipIf(!backend.ok || !hasSsh)(
  `a run in a sandbox executes nothing over a connection that OpenSSH keeps open for the operator${UNLESS}`,
  async () => {
    const bus = new Bus();
    const home = join(bus.root, 'home');
    const work = join(home, 'work');
    for (const folder of [work, join(home, 'server')]) mkdirSync(folder, { recursive: true });
    const host = await bus.host('front', {});
    host.env['HOME'] = home;
    const { port, key } = await sshServer(join(home, 'server'));
    const common = ['-F', 'none', '-p', String(port), '-o', 'StrictHostKeyChecking=no'];
    const known = ['-o', `UserKnownHostsFile=${join(home, 'known')}`, '-o', 'BatchMode=yes'];
    // It binds a name of its own to its socket, and gives it this one by a link.
    const master = ['-o', 'ControlMaster=yes', '-o', `ControlPath=${work}/cm`, '-i', key, '-N'];
    const patient = ['-o', 'ConnectionAttempts=30'];
    started(['ssh', ...common, ...known, ...patient, ...master, 'root@127.0.0.1'], home);
    await until('the connection', () => existsSync(join(work, 'cm')), 60_000);
    const ran = join(home, 'ran');
    const words = [...common, '-o', 'ControlPath=cm', '-o', 'ControlMaster=no'];
    const commands = {
      'execute something over it': `ssh ${words.join(' ')} -o BatchMode=yes root@127.0.0.1 touch ${ran}`,
    };
    const boxed = await tried({ bus, host }, commands, {
      workdir: work,
      sandbox: { net: ['none'] },
    });
    expect([boxed.succeeded, existsSync(ran)]).toEqual([[], false]);
    const free = await tried({ bus, host }, commands, { workdir: work });
    expect([free.succeeded, existsSync(ran)]).toEqual([Object.keys(commands), true]);
  },
);

can(
  `a run in a sandbox has sockets of the usual kinds alone, and no way around what is refused${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', {});
    const socket = (family: number): string =>
      `perl -e 'exit(socket(S, ${String(family)}, ${family === 38 ? '5' : '1'}, 0) ? 0 : 1)'`;
    const pair = `perl -e 'socketpair(A, B, 30, 1, 0); exit($!{EPERM} ? 1 : 0)'`;
    // Without arguments that make sense: the kernel says so, if it gets as far.
    const ring = `perl -e 'syscall(425, 1, 0); exit($!{EPERM} ? 1 : 0)'`;
    const all: Record<string, string> = {
      'AF_VSOCK, to the machine around this one': socket(40),
      AF_ALG: socket(38),
      'a pair of AF_TIPC': pair,
      io_uring: ring,
      '(AF_UNIX)': socket(1),
      '(AF_INET)': socket(2),
      '(AF_INET6)': socket(10),
    };
    const free = await tried({ bus, host }, all, {});
    // Not every kernel has each of them.
    expect(free.succeeded.length).toBeGreaterThan(4);
    const boxed = await tried({ bus, host }, all, { sandbox: { net: ['all'] } });
    expect(boxed.succeeded).toEqual(['(AF_UNIX)', '(AF_INET)', '(AF_INET6)']);
  },
);
