import { access, constants, statfs, stat, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { asWarning, checkOf, type Check } from './check.ts';
import { commandLine, programToFind } from '../../agents/command-line.ts';
import { shown } from '../../protocol/text/result.ts';
import { holderOf } from '../../state/lock.ts';
import type { CheckoutState, Transport } from '../../transport/transport.ts';
import { refreshed, type Context } from '../context.ts';
import { permission } from '../publishing.ts';
import { attachedFiles, refusedPaths, sharedLimits } from './files.ts';
import { nodeCheck } from './node.ts';
import { openHere } from './open.ts';
import { runnerChecks } from './warm.ts';
import { serviceChecks } from './service.ts';
import { OLDEST_GIT } from '../../transport/git/failure.ts';
import { firstOnPath } from '../locate.ts';
import { knownHost } from '../setup/approvals.ts';
import { examine } from '../health/status.ts';
import type { Facts } from '../health/report.ts';
import { backlog, doubleChannels, newsChecks } from './news.ts';
import { hearItself } from '../../bell/connect.ts';
import { claimLeaseOf } from '../../bus/claims.ts';
import { parseBell } from '../../bell/settings.ts';
import { withoutCredentials } from '../../credentials.ts';
import { reasonOf } from '../../errors.ts';
import { suffixOf } from '../../protocol/layout.ts';
import { takeCensus } from '../health/census.ts';
import { sizeInWords } from '../../protocol/attached.ts';
import { Worktrees } from '../../state/worktrees.ts';
import { fileSystemAt } from '../../state/place/file-system.ts';
import { ago } from '../../present/times.ts';

const LEAST_ROOM = 100 * 1024 * 1024;
const MANY_LOOSE = 10_000;
const REACH = 'check the address (git remote -v), the network and your access';
/** The most foreign paths that are named. */
const MAX_NAMED = 5;

/**
 * Examines everything around the bus that can keep messages from moving. Each finding of `status` comes first, in its
 * words and its order.
 */
export async function doctor(context: Context, alias: string | undefined): Promise<Check[]> {
  // The checkout reports why it is left, and `status` knows it from there.
  const followed = await context.checkout.follow();
  const { facts, judged } = await examine(context, alias);
  const told = [...judged.findings.map(checkOf), ...judged.warnings.map(checkOf).map(asWarning)];
  const isTold = (name: string): boolean => told.some(({ check }) => check === name);
  const checks = await Promise.all([
    gitVersion(context),
    remote(context),
    clock(context),
    locks(context),
    room(context.paths.root, 'room for the state'),
    room(context.transport.dir, 'room for the clone'),
    objects(context),
    attachedFiles(context),
    ...agents(context, facts),
  ]);
  const all = [
    ...told,
    ...(facts.version_problem === null ? [VERSION_KNOWN] : []),
    ...newsChecks(facts, context.now()),
    ...(await doubleChannels(context)),
    ...processOne(facts),
    ...nodeCheck(process.versions.node, context.now()),
    ...checks,
    ...(isTold('checkout') ? [] : [checkoutCheck(followed)]),
    ...(await notShown(context.transport)),
    ...(await refusedPaths(context)),
    ...(isTold('state directory') ? [] : [await stateDirectory(context.paths.root)]),
    ...(await runnerChecks(context)),
    ...(await copiesOfRepositories(context)),
    ...(await bellCheck(context)),
    ...leaseCheck(context),
    ...(await sharedLimits(context)),
    ...openHere(context, await knownHost(context, alias)),
    ...(await serviceChecks(context, facts.host)),
  ];
  return judged.health.ok ? [...all, backlog(all)] : all;
}

const VERSION_KNOWN: Check = {
  check: 'protocol version',
  ok: true,
  found: 'the one that this program speaks',
  fix: '',
};

/** Checks process 1, which has to reap the processes that others leave there; Node does not. */
function processOne({ dispatcher }: Facts): Check[] {
  if (dispatcher?.pid !== 1) return [];
  const found =
    'the dispatcher is process 1 of its container: what runs leave behind stays there as zombies, until no process can be started';
  return [
    {
      check: 'process 1',
      ok: false,
      warning: true,
      found,
      fix: 'start it under an init, as with: docker run --init',
    },
  ];
}

async function gitVersion({ transport }: Context): Promise<Check> {
  const found = await transport.git(['--version']);
  const [major = 0, minor = 0] = (/(?<!\d)(\d+)\.(\d+)/.exec(found) ?? []).slice(1).map(Number);
  const [least = 0, lesser = 0] = OLDEST_GIT.split('.').map(Number);
  const ok = major > least || (major === least && minor >= lesser);
  return { check: 'git', ok, found, fix: `install git ${OLDEST_GIT} or newer` };
}

/** Checks that the remote is reachable, and writable as far as an empty push can tell. */
async function remote(context: Context): Promise<Check> {
  if (context.transport.origin === undefined)
    return { check: 'remote', ok: true, found: 'none: a solo transport', fix: '' };
  const news = await refreshed(context);
  if (!news.ok) {
    const fix = news.failure.commit === undefined ? REACH : 'crosstalk sync --recreate';
    return { check: 'remote', ok: false, found: news.failure.reason, fix };
  }
  await permission(context.budget)('read');
  const refused = await context.transport.pushTip('dry');
  return refused === undefined
    ? { check: 'remote', ok: true, found: 'can be read and written', fix: '' }
    : { check: 'remote', ok: false, found: refused.reason, fix: 'ask for the right to push' };
}

/** Shows who holds the locks (those of a dead process are taken over automatically). */
async function locks({ paths }: Context): Promise<Check> {
  const held: string[] = [];
  for (const name of ['dispatcher', 'writer'] as const) {
    const holder = await holderOf(paths.root, name);
    if (holder !== undefined)
      held.push(`${name}: process ${String(holder.pid)} since ${holder.since}`);
  }
  return { check: 'own locks', ok: true, found: held.join(', ') || 'none', fix: '' };
}

function checkoutCheck(followed: CheckoutState): Check {
  const found = followed.state === 'left' ? followed.reason : followed.state;
  return { check: 'checkout', ok: true, found, fix: '' };
}

/** Reports the paths in the transport that no checkout shows (trust.md §1). */
async function notShown(transport: Transport): Promise<Check[]> {
  const foreign = await transport.foreignPaths();
  if (foreign.length === 0) return [];
  const named = foreign.slice(0, MAX_NAMED).map((path) => shown(path));
  const more =
    foreign.length > named.length ? ` and ${String(foreign.length - named.length)} more` : '';
  const found = `not shown, since nothing of a transport is there: ${named.join(', ')}${more}`;
  return [{ check: 'checkout', ok: true, found, fix: '' }];
}

async function room(path: string, check: string): Promise<Check> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  const found = `${String(Math.round(free / 1024 / 1024))} MiB free at ${path}`;
  return {
    check,
    ok: free >= LEAST_ROOM,
    warning: true,
    found,
    fix: 'make room: less than 100 MiB is left',
  };
}

/**
 * Checks the number of loose objects: too many slow down every git command, and git's maintenance
 * packs them.
 */
async function objects({ transport }: Context): Promise<Check> {
  const done = await transport.maintain();
  const left = done?.after ?? (await transport.looseObjects());
  const found =
    done === undefined
      ? `${String(left)} loose`
      : `${String(done.before)} loose, ${String(left)} after maintenance`;
  return {
    check: 'objects',
    ok: left < MANY_LOOSE,
    warning: true,
    found,
    fix: `git -C ${transport.dir} maintenance run --task=loose-objects, after removing objects/maintenance.lock if no git runs`,
  };
}

/**
 * Checks the agents by the PATH of a running dispatcher, which may be another one, and which reports what it cannot
 * start.
 */
function agents({ env }: Context, { host, dispatcher }: Facts): Promise<Check>[] {
  const tiers = (host?.actors ?? []).flatMap(({ name, tiers: all }) =>
    all.map((tier) => ({ name, tier })),
  );
  return tiers.map(async ({ name, tier }) => {
    const program = programToFind(commandLine(tier.cli), env['HOME']);
    const there =
      program === undefined ||
      (program.startsWith('/')
        ? await access(program, constants.X_OK).then(
            () => true,
            () => false,
          )
        : (await firstOnPath([program], env['PATH'] ?? '')) !== undefined);
    return {
      check: `cli of ${name} (${tier.name})`,
      ok: there,
      ...(dispatcher !== null && { warning: true as const }),
      found: `${
        program === undefined
          ? 'a shell command'
          : `${program} ${there ? 'is there' : 'is not on the PATH'}`
      }${tier.output !== null && 'off' in tier.output ? `; ${tier.output.off}` : ''}`,
      fix: `install ${program ?? 'it'}, or change the command: crosstalk actor add ${name} --tier ${tier.name} --cli <command>`,
    };
  });
}

function leaseCheck({ transport, env }: Context): Check[] {
  const { problem } = claimLeaseOf(transport.defaults, env);
  if (problem === undefined) return [];
  const fix = 'git config crosstalk.claimLease 15m, or --unset it';
  return [{ check: 'claims', ok: false, warning: true, found: problem, fix }];
}

const BELL = 'bell';

/** Connects to the bell, and sends itself a message there; none where no bell is set. */
async function bellCheck({ transport, env }: Context): Promise<Check[]> {
  const { bell } = transport.defaults;
  if (bell === undefined) return [];
  if (transport.origin === undefined)
    return [
      {
        check: BELL,
        ok: true,
        found: 'is not used: without a remote there is no other machine',
        fix: '',
      },
    ];
  const settings = parseBell(bell, transport.origin, env['HOME']);
  if (!settings.ok)
    return [
      {
        check: BELL,
        ok: false,
        warning: true,
        found: withoutCredentials(settings.problems.join('; ')),
        fix: 'git config crosstalk.bell nats://<host>:4222, then crosstalk host approve',
      },
    ];
  const { subject, tls, files } = settings.value;
  const open = await openToOthers([files.credentials, files.key]);
  if (open !== undefined)
    return [
      {
        check: BELL,
        ok: false,
        warning: true,
        found: `every user of this machine may use ${open}, which lets whoever has it ring and listen`,
        fix: `chmod 600 ${open}`,
      },
    ];
  try {
    const heard = await hearItself(settings.value);
    const how = `${tls ? 'TLS' : 'no TLS'}, ${files.credentials === undefined ? 'no credentials file' : 'with credentials'}`;
    const found = `${heard} can be heard (${how}); the subject is ${subject}, which has to be the same on all machines`;
    return [{ check: BELL, ok: true, found, fix: '' }];
  } catch (error) {
    const fix = 'until then mail comes by the poll; see docs/bell.md';
    return [
      { check: BELL, ok: false, warning: true, found: withoutCredentials(reasonOf(error)), fix },
    ];
  }
}

/** Returns the first of some files that others than its owner and its group may read or write. */
async function openToOthers(paths: readonly (string | undefined)[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = path === undefined ? undefined : await stat(path).catch(() => undefined);
    if (found !== undefined && (found.mode & 0o007) !== 0) return path;
  }
  return undefined;
}

const CLOCK_TOLERANCE_S = 300;

/**
 * Compares this machine's clock with the newest message's time, as most messages are from other
 * machines.
 */
async function clock(context: Context): Promise<Check> {
  const { channels } = await takeCensus(context);
  const newest =
    Object.values(channels)
      .map(({ last }) => last)
      .sort()
      .at(-1) ?? '';
  const match = /^(\d{4})\/(\d{2})\/(\d{2})\/(\d{2})(\d{2})(\d{2})/.exec(newest);
  if (match === null)
    return { check: 'clock', ok: true, found: 'no message to compare with', fix: '' };
  const [year = 0, month = 1, ...rest] = match.slice(1).map(Number);
  const [day = 1, hours = 0, minutes = 0, seconds = 0] = rest;
  const at = Date.UTC(year, month - 1, day, hours, minutes, seconds);
  const ahead = Math.round((at - context.now().getTime()) / 1000);
  const ok = ahead <= CLOCK_TOLERANCE_S;
  const found = ok
    ? 'not behind the newest message'
    : `message ${suffixOf(newest)} is ${ago(context.now().toISOString(), new Date(at))} in the future`;
  return {
    check: 'clock',
    ok,
    warning: true,
    found,
    fix: 'set the clock here, or on the machine that wrote it',
  };
}

/** A folder with more entries is not weighed to its end. */
const MOST_ENTRIES = 300_000;

/** Reports the size of the copies of repositories, if there are any. */
async function copiesOfRepositories({ paths }: Context): Promise<Check[]> {
  const all = await new Worktrees(paths.worktrees).all();
  if (all.length === 0) return [];
  const { bytes, isWhole } = await weigh(paths.worktrees);
  const weight = `${isWhole ? '' : 'more than '}${sizeInWords(bytes)}`;
  const fix = 'crosstalk worktree prune';
  return [
    {
      check: 'copies of repositories',
      ok: true,
      found: `${String(all.length)}, ${weight}; those with which nothing is lost are removed by: ${fix}`,
      fix: '',
    },
  ];
}

async function weigh(folder: string): Promise<{ bytes: number; isWhole: boolean }> {
  const folders = [folder];
  let [bytes, entries] = [0, 0];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      if (++entries > MOST_ENTRIES) return { bytes, isWhole: false };
      const path = join(at, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else bytes += (await lstat(path).catch(() => ({ size: 0 }))).size;
    }
  }
  return { bytes, isWhole: true };
}

/** Checks that no other machine may use the state directory. */
async function stateDirectory(root: string): Promise<Check> {
  const check = 'state directory';
  const on = await fileSystemAt(root);
  if (on.kind !== 'shared') return { check, ok: true, found: 'yours alone', fix: '' };
  const found = `${root} is on ${on.name}, which other machines may use at the same time`;
  const fix = 'give another with CROSSTALK_STATE_DIR, unless only this machine uses it';
  return { check, ok: false, warning: true, found, fix };
}
