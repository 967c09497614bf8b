import { spawn, type ChildProcess } from 'node:child_process';
import { access, constants, lstat } from 'node:fs/promises';
import { join, basename, dirname } from 'node:path';
import { Writable } from 'node:stream';
import { callFilter } from './filter.ts';
import { mountsOf, isWithin } from './mounts.ts';
import { systemPlaces } from './system.ts';
import { withPipes } from '../../with-pipes.ts';
import { openFolder, type OpenFolder } from '../../without-links.ts';

/** Ability of this machine to make a sandbox, and the remedy if it cannot. */
export type Backend = { ok: true; program: string } | { ok: false; problem: string; fix: string };

/**
 * Options that every sandbox has: it is separated from other processes, from what they share, and from their rights.
 */
const APART = [
  ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--cap-drop', 'ALL', '--die-with-parent'],
];
/**
 * Options by which root is the user nobody in the sandbox: the sandboxes that agent CLIs make for their tools
 * need an ordinary user.
 */
const NOBODY = ['--uid', '65534', '--gid', '65534'];

/**
 * A script that goes on if each of some paths is a mount, and the expected one: the number of paths, the
 * number of those whose identity is known, and what `stat` says of these come first. A newline stays escaped,
 * as the kernel prints it.
 */
const CHECK = [
  '(n=$1 known=$2 want=$3; shift 3; PATH=/usr/bin:/bin:/run/current-system/sw/bin; list= i=0',
  'points=$(printf "$(cut -d" " -f5 /proc/self/mountinfo | sed "s/%/%%/g; s/[\\\\]012/\\\\\\\\\\\\\\\\012/g")")',
  'while [ "$i" -lt "$n" ]; do',
  'i=$((i + 1)); eval "path=\\${$i}"; [ "$i" -gt "$known" ] || list="$list \\"\\${$i}\\""',
  'case "',
  '$points',
  '" in *"',
  '$path',
  '"*) ;; *) exit 1 ;; esac; done',
  'eval "found=\\$(stat -c %d:%i -- $list)"; [ "$found" = "$want" ]) ||',
  '{ echo "crosstalk: what this sandbox shows was moved while it was made; nothing was run" >&2; exit 1; }',
  'shift "$((3 + $1))"; exec "$@"',
].join('\n');

/** A script that opens a file for the program that follows. */
const OPENED = 'exec 9< "$1"; shift; exec "$@"';

/** Network access of a process in a sandbox: all of the machine's network, none, or through a proxy. */
export type Network = 'all' | 'none' | { socket: string };

/**
 * Returns the words before a command line that run it in a sandbox.
 *
 * @param view the mounts as {@link mountsOf} returns them, and their expected identities
 * @param cwd its working directory, under the same path in the sandbox
 * @param filter the file of the filter of system calls (`filter.ts`)
 */
export function wrapped(
  program: string,
  { mounts, made }: { mounts: readonly string[]; made: readonly Made[] },
  cwd: string,
  network: Network,
  filter: string,
): string[] {
  const net = network === 'all' ? [] : ['--unshare-net'];
  const inside = typeof network === 'string' ? [] : withForwarder(network.socket);
  const known = made.filter(({ identity }) => identity !== undefined);
  const paths = new Set([...known, ...made].map(({ path }) => path));
  const want = known.map(({ identity }) => identity).join('\n');
  return [
    ...['/bin/sh', '-c', OPENED, 'sh', filter, program, ...options(mounts, cwd, net)],
    ...['/bin/sh', '-c', CHECK, 'sh', String(paths.size), String(known.length), want, ...paths],
    ...inside,
  ];
}

function options(mounts: readonly string[], cwd: string, net: readonly string[]): string[] {
  const who = process.getuid?.() === 0 ? NOBODY : [];
  return ['--seccomp', '9', ...APART, ...who, ...net, ...mounts, '--chdir', cwd, '--'];
}

/** Returns the environment variables by which programs find the proxy. */
export function proxyVariables(network: Network): Record<string, string> {
  if (typeof network === 'string') return {};
  const address = `http://127.0.0.1:${String(FORWARDER_PORT)}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
  return {
    ...Object.fromEntries(
      names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, address]),
    ),
    // Node's own fetch needs this, from Node 22.21 on.
    NODE_USE_ENV_PROXY: '1',
  };
}

const TRY_MS = 10_000;
/** A script that fails if something is writable that must not be, in a sandbox of any user. */
const PROMISES =
  'for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /etc; do test ! -w "$file" || { echo "$file can be written in it" >&2; exit 1; }; done';

/** Checks whether a sandbox can be made here, by making one. */
export async function findBackend(environment: NodeJS.ProcessEnv): Promise<Backend> {
  if (process.platform !== 'linux')
    return {
      ok: false,
      problem: `no sandbox is known for ${process.platform}`,
      fix: 'run this actor on a Linux machine, or take sandbox out of its tier',
    };
  const program = await onPath('bwrap', environment['PATH'] ?? '');
  if (program === undefined)
    return {
      ok: false,
      problem: 'bubblewrap (bwrap) is not installed',
      fix: 'install it, as with: apt-get install bubblewrap',
    };
  const filter = callFilter(process.arch, { nests: false });
  if (filter === undefined)
    return {
      ok: false,
      problem: `no filter of system calls is known for processors of the kind ${process.arch}`,
      fix: 'run this actor on a machine with x64 or arm64, or take sandbox out of its tier',
    };
  const mounts = mountsOf({
    ...(await systemPlaces()),
    ...{ own: [], write: [], cover: [], fixed: [] },
  });
  const tried = [...options(mounts, '/', ['--unshare-net']), '/bin/sh', '-c', PROMISES];
  const said = await failureOf(program, tried, filter);
  if (said === undefined) return { ok: true, program };
  return {
    ok: false,
    problem: `bubblewrap cannot make a sandbox here: ${said}`,
    fix: 'let it make user namespaces: sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap that allows userns; a container needs them too',
  };
}

async function onPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(':').filter((one) => one.startsWith('/'))) {
    const file = join(folder, name);
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return undefined;
}

/** Returns the error output of a program that fails; undefined if it succeeds. */
function failureOf(
  program: string,
  args: readonly string[],
  filter: Buffer,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const between = Array.from({ length: 6 }, () => 'ignore' as const);
    const stdio = [
      'ignore' as const,
      'ignore' as const,
      'pipe' as const,
      ...between,
      'pipe' as const,
    ];
    const child: ChildProcess = withPipes(spawn(program, args, { stdio, timeout: TRY_MS }));
    const given = (child.stdio as readonly unknown[])[9];
    if (given instanceof Writable) given.on('error', () => undefined).end(filter);
    let said = '';
    child.stderr
      ?.setEncoding('utf8')
      .on('data', (text: string) => (said = (said + text).slice(-500)));
    child.once('error', (error) => {
      resolve(error.message);
    });
    child.once('close', (code) => {
      const words = said.trim().replace(/\s+/g, ' ');
      resolve(code === 0 ? undefined : words || `exit code ${String(code)}`);
    });
  });
}

/** Port of the forwarder in a sandbox that may reach some hosts. */
const FORWARDER_PORT = 3128;

/**
 * A forwarder from a port of the sandbox to a socket that is bound into it. It listens before its first process ends,
 * so that it is ready for a caller that waits for that end. Perl starts in a tenth of the time that Node takes.
 */
const IN_PERL = `use Socket; my ($to) = @ARGV; my $p;
$SIG{PIPE} = "IGNORE";
socket(L, AF_INET, SOCK_STREAM, 0) && bind(L, sockaddr_in(${String(FORWARDER_PORT)}, INADDR_LOOPBACK)) && listen(L, 128) || exit 1;
defined($p = fork) || exit 1;
exit 0 if $p;
$SIG{CHLD} = "IGNORE";
sub pass { my ($from, $on) = @_;
  while (my $n = sysread($from, my $b, 65536)) { my $o = 0;
    while ($o < $n) { my $w = syswrite($on, $b, $n - $o, $o); return unless defined $w; $o += $w } }
  shutdown($on, 1) }
for (;;) { accept(C, L) || next;
  $p = fork; if (!defined($p) || $p) { close(C); next }
  close(L);
  socket(U, AF_UNIX, SOCK_STREAM, 0) && connect(U, sockaddr_un($to)) || exit 1;
  defined($p = fork) || exit 1;
  if ($p) { pass(\\*U, \\*C) } else { pass(\\*C, \\*U) }
  exit 0 }`;

/** The same forwarder for machines without Perl; reports through a pipe that it listens. */
const IN_NODE = `const n=require('node:net');n.createServer(c=>{const o=n.connect(process.argv[1]);c.pipe(o).pipe(c);c.on('error',()=>o.destroy());o.on('error',()=>c.destroy())}).listen(${String(FORWARDER_PORT)},'127.0.0.1',()=>require('node:fs').writeFileSync('/tmp/.network','\\n'))`;

/** A script that starts the forwarder, and the command even if the forwarder cannot start. */
const START =
  'perl -e "$1" "$4" </dev/null >/dev/null 2>&1 || { mkfifo /tmp/.network; { "$2" -e "$3" "$4" </dev/null >/dev/null 2>&1 || echo > /tmp/.network; } & read -r _ < /tmp/.network; rm -f /tmp/.network; }; shift 4; exec "$@"';

/** Returns the words before a command line in a sandbox that first start a forwarder to a socket. */
function withForwarder(socket: string): string[] {
  return ['/bin/sh', '-c', START, 'sh', IN_PERL, process.execPath, IN_NODE, socket];
}

/*
 * bubblewrap makes mounts by paths. If another run may write there, it can put a symlink on such a path at
 * that moment, and the mount would be another folder, up to the operator's HOME. So the source of each mount
 * is identified beforehand, and before any part of the run starts the mounts are checked in the sandbox: each
 * path is a mount, and has the expected identity.
 */

/** A mount that has to exist. */
interface Made {
  path: string;
  /** Device and inode of its source, as printed by `stat`; undefined for a folder in memory. */
  identity: string | undefined;
}

/**
 * Identifies the sources of mounts.
 *
 * @param mounts as `mountsOf` returns them
 * @throws Error if something does not exist any more, or a symlink is on the way
 */
export async function toBeMade(mounts: readonly string[]): Promise<Made[]> {
  const places = new Map<string, string | undefined>();
  for (const [at, word] of mounts.entries()) {
    const [first = '', second = ''] = mounts.slice(at + 1, at + 3);
    if (word === '--tmpfs') places.set(first, undefined);
    // No run can write where the kernel describes itself.
    else if (/^--(ro-)?bind$/.test(word) && !isWithin(second, '/proc')) places.set(second, first);
  }
  const folders = new Map<string, Promise<OpenFolder>>();
  try {
    const all = [...places].map(async ([path, from]): Promise<Made> => {
      if (from === undefined) return { path, identity: undefined };
      const opening = folders.get(dirname(from)) ?? openFolder(dirname(from));
      folders.set(dirname(from), opening);
      const { dev, ino } = await lstat(join((await opening).at, basename(from)), { bigint: true });
      return { path, identity: `${String(dev)}:${String(ino)}` };
    });
    return await Promise.all(all);
  } finally {
    for (const opened of await Promise.allSettled(folders.values()))
      if (opened.status === 'fulfilled') await opened.value.close();
  }
}

/** Milliseconds after which a machine that cannot make sandboxes is checked again. */
const AGAIN_MS = 30_000;

/** A cached check of whether this machine can make sandboxes, made when the first one is wanted. */
export class Sandboxes {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #now: () => Date;
  #found: Promise<Backend> | undefined;
  #askAgain = Infinity;

  constructor(environment: NodeJS.ProcessEnv, now: () => Date) {
    this.#environment = environment;
    this.#now = now;
  }

  /** Returns the program for sandboxes. A machine that has one is not checked again. */
  async backend(): Promise<Backend> {
    const now = this.#now().getTime();
    if (this.#found === undefined || now >= this.#askAgain) {
      this.#askAgain = Infinity;
      this.#found = findBackend(this.#environment);
    }
    const found = await this.#found;
    if (!found.ok && this.#askAgain === Infinity) this.#askAgain = now + AGAIN_MS;
    return found;
  }

  /** Time of the next check of a machine that cannot make sandboxes; undefined if none is due. */
  get next(): Date | undefined {
    return Number.isFinite(this.#askAgain) ? new Date(this.#askAgain) : undefined;
  }
}
