import type { App } from '../bus/app.ts';
import { hostname } from 'node:os';
import { isOfRun } from './agent-mode.ts';
import type { Requirement } from '../protocol/outgoing.ts';
import type { Dispatch } from '../agents/dispatch-variables.ts';
import { Checkout } from '../bus/checkout.ts';
import { MessageReader } from '../bus/message-reader.ts';
import { Verifier } from '../bus/verifier.ts';
import type { Channel } from '../protocol/files/channel.ts';
import { findSocket } from '../dispatcher/socket/socket-path.ts';
import { type HostEntry, checkVersion } from '../bus/host.ts';
import { Publisher, type PublishOutcome } from '../bus/publisher.ts';
import { withoutCredentials, withoutWebToken } from '../credentials.ts';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { MAX_MESSAGE_BYTES } from '../protocol/message.ts';
import { Screen } from '../secrets/screen.ts';
import { DeadLetters } from '../state/dead-letters.ts';
import { loadApprovals } from '../state/approvals.ts';
import { stateDirectory, stateHome, forgetClone, isPrivate } from '../state/directory.ts';
import type { StatePaths } from '../state/state-paths.ts';
import { acquire } from '../state/lock.ts';
import { Outbox } from '../state/outbox.ts';
import type { RemoteBudget } from '../state/remote-budget.ts';
import { Decided } from '../state/keys/decided.ts';
import { Seal } from '../store/seal.ts';
import { Written } from '../state/written.ts';
import { Runs } from '../state/runs.ts';
import type { Turns } from '../state/turn.ts';
import { findClone, stateNames } from '../transport/clone/clone.ts';
import { Transport, type Refreshed } from '../transport/transport.ts';
import { dispatchOf, locateTransport, type Surroundings } from './locate.ts';
import { findLostMail } from './lost-mail.ts';
import { budgetOf, permission, publishing, turnsOf } from './publishing.ts';
import { clockOf } from './clock.ts';
import { saidSecrets } from '../protocol/text/secrets.ts';

/** An {@link App} for one command, or for a dispatcher. */
export interface Context extends Surroundings, App {
  env: NodeJS.ProcessEnv;
  /** The operator's checkout. */
  checkout: Checkout;
  turns: Turns;
  budget: RemoteBudget;
  /** The dispatch that the work belongs to; empty outside of a dispatch. */
  dispatch: Dispatch;
  hostname: string;
  /** For a response with several parts, the commit that all of them see. Its content is read once. */
  view?: {
    tip: string;
    channels: () => Promise<Channel[]>;
    hosts: () => Promise<HostEntry[]>;
  };
  /** Whether another process follows the bus all the time, so that commands need not fetch. */
  isFollowed?: boolean;
  /** For a request of a run: conditions on everything that it publishes. */
  fence?: readonly Requirement[];
  /** Inside a dispatcher: passes an outbox entry to its publisher. */
  publish?: (id: string) => Promise<PublishOutcome>;
  /** Reports something to the operator that is not a result, as one line on stderr. */
  note: (line: string) => void;
}

/** Milliseconds that a command waits for another process that is publishing. */
const LOCK_WAIT_MS = 60_000;

/**
 * Opens the transport and its state for one command, and closes it afterwards. This is the only
 * place that constructs the parts which access git and the disk.
 *
 * @throws CrosstalkError `not_found` without a transport, `unsupported_version` for another version
 */
export async function withContext<T>(
  surroundings: Surroundings,
  options: {
    transport?: string;
    note: (line: string) => void;
    /**
     * With `told`, commands that report problems also open a transport of another version if something is
     * approved for it.
     */
    anyVersion?: boolean | 'told';
  },
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const dir = locateTransport(surroundings, options.transport);
  const env = withoutWebToken(surroundings.env);
  const { paths, transport } = await openTransport(dir, env);
  const written = new Written(paths.root);
  const given = clockOf(surroundings);
  const now = (): number => given.now().getTime();
  const checkout = new Checkout(transport, given.now);
  try {
    const outbox = new Outbox(paths.root, written);
    const context: Context = {
      ...surroundings,
      env,
      transport,
      checkout,
      reader: new MessageReader(transport),
      verifier: new Verifier({ transport, ...paths, env }),
      paths,
      outbox,
      written,
      decided: new Decided(paths.root),
      screen: screenOf({ transport, outbox }),
      turns: turnsOf(transport, surroundings.env, now),
      budget: budgetOf(transport, surroundings.env, now),
      deadLetters: new DeadLetters(paths.root),
      runs: new Runs(paths.root),
      dispatch: dispatchOf(surroundings),
      hostname: hostname(),
      ...given,
      note: (line) => {
        options.note(withoutCredentials(line));
      },
      // Another process follows the bus for a run, which may not have access to the network.
      ...(isOfRun(surroundings.agentMode) && { isFollowed: true }),
    };
    if (context.isFollowed !== true) {
      await shareConnections(transport, paths, { opens: false });
      const ear = findSocket(paths.socket);
      if (ear.kind === 'foreign')
        context.note(`the dispatcher of this machine is not asked: ${ear.problem}`);
    }
    if (options.anyVersion !== true) await requireVersion(context, options.anyVersion === 'told');
    return await work(context);
  } finally {
    transport.close();
  }
}

/**
 * Opens the transport in a folder, with the state that belongs to its clone.
 *
 * @param isMade whether this process has just created the clone: then a given state directory is not read
 *   as the state of another clone that was at this path before
 */
export async function openTransport(
  dir: string,
  environment: NodeJS.ProcessEnv,
  { isMade = false }: { isMade?: boolean } = {},
): Promise<{ paths: StatePaths; transport: Transport }> {
  const clone = await findClone(dir);
  let root = stateHome(environment);
  try {
    const { paths, started } = await stateDirectory(environment, clone, () =>
      stateNames(clone, environment),
    );
    root = paths.root;
    if (isMade) await forgetClone(paths);
    const opening = {
      clone,
      environment,
      record: paths.settings,
      seal: Seal.of(paths.settings),
      own: paths.git,
      fresh: isMade || !started.was,
    };
    const transport = await Transport.open(opening, MAX_MESSAGE_BYTES);
    // If nothing can be written, the next command marks it.
    await started.mark().catch(() => undefined);
    return { paths, transport };
  } catch (error) {
    if (error instanceof CrosstalkError) throw error;
    throw new CrosstalkError(
      'refused',
      `cannot write to the state directory ${root}: ${reasonOf(error)}; nothing was sent: make room, or give another with CROSSTALK_STATE_DIR`,
      { cause: error },
    );
  }
}

async function requireVersion(context: Context, isTold: boolean): Promise<void> {
  const { transport, isFollowed, paths } = context;
  const problem = await checkVersion(transport, await transport.tip()).catch((error: unknown) => {
    if (!(error instanceof CrosstalkError)) throw error;
    return error.message; // A file that git cannot read because of damage comes with the next fetch.
  });
  if (problem === undefined) return;
  if (isFollowed !== true) await refreshed(context);
  const still = await checkVersion(transport, await transport.tip());
  const isInUse = Object.keys((await loadApprovals(paths.approvals)).hosts).length > 0;
  if (still !== undefined && !(isTold && isInUse))
    throw new CrosstalkError('unsupported_version', still);
}

/** Fetches from the remote as soon as the budget of reads allows it. */
export async function refreshed(context: Context, signal?: AbortSignal): Promise<Refreshed> {
  await permission(context.budget, signal)('read');
  const [before, news] = [await context.transport.tip(), await context.transport.refresh(signal)];
  if (news.ok && news.tip !== before) await findLostMail(context);
  return news;
}

/** Returns the bus's tip; a transport that passed {@link withContext} has one. */
export async function tipOf({ transport, view }: Context): Promise<string> {
  const tip = view?.tip ?? (await transport.tip());
  if (tip === undefined) {
    throw new CrosstalkError(
      'not_found',
      `no transport at ${transport.dir}: the branch ${transport.branch} has no commits; make one with: crosstalk init`,
    );
  }
  return tip;
}

/**
 * Creates a publisher in this process, under the writer lock; `onPushing` receives each commit that is
 * pushed next.
 */
export function directPublisher(context: Context, onPushing?: (tip: string) => void): Publisher {
  const { outbox, deadLetters, paths, screen } = context;
  return new Publisher({
    outbox,
    lookForSecrets: (entry) => screen.look(entry),
    publish: publishing({ ...context, ...(onPushing && { onPushing }) }),
    mayPush: () => context.budget.push(),
    lock: (signal) => acquire(paths.root, 'writer', { wait: LOCK_WAIT_MS, signal }),
    now: context.now,
    // A dispatcher that starts later finds the answer; a dead letter is removed now.
    onPublished: async ({ delivery }) => {
      if (delivery?.deadLetter !== undefined) await deadLetters.remove(delivery.deadLetter);
    },
  });
}

/**
 * Fetches from the remote; if it cannot be reached, notes that and continues.
 *
 * @returns the reason why it could not be reached
 */
export async function refreshOrNote(
  context: Context,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (context.isFollowed === true) return undefined;
  const asked = await refreshed(context, signal);
  if (asked.ok) return undefined;
  context.note(`could not ask the remote: ${asked.failure.reason}; showing what is known here`);
  return asked.failure.reason;
}

/** Shares ssh connections if the remote is reached by ssh; see {@link Transport}. */
export async function shareConnections(
  transport: Transport,
  paths: StatePaths,
  { opens }: { opens: boolean },
): Promise<void> {
  const overSsh = /^(ssh:|[^/:]+:(?!\/\/))/.test(transport.origin ?? '');
  if (overSsh && (await isPrivate(paths.connections, { make: opens })))
    transport.shareConnections(paths.connections, opens);
}

/** Values of a setting in git config that switch it off, as git reads them. */
const OFF = new Set(['false', 'no', 'off', '0']);

/**
 * Whether something that is on by default is switched off.
 *
 * @param setting its value in git config
 */
export function isOff(setting: string | undefined): boolean {
  return OFF.has((setting ?? '').trim().toLowerCase());
}

/** Creates the search for secrets in an outbox, by the settings of its clone. */
function screenOf({
  transport,
  outbox,
}: {
  transport: Transport;
  outbox: Pick<Outbox, 'files'>;
}): Screen {
  return new Screen({
    bytesOf: async ({ kept, sha256, bytes }) =>
      kept === undefined ? undefined : outbox.files.get(kept, sha256, bytes),
    mode: async () => {
      // A dispatcher lives long, and the setting may have changed a moment ago.
      await transport.reread();
      return isOff(transport.defaults.scanSecrets) ? 'off' : 'on';
    },
  });
}

/**
 * Checks the first files of a transport, which are not in an outbox: if they contain a secret, it is not
 * created.
 *
 * @throws CrosstalkError `held`; nothing is written then
 */
export async function assertNoSecret(files: { path: string; content: string }[]): Promise<void> {
  const screen = new Screen({
    bytesOf: () => Promise.resolve(undefined),
    mode: () => Promise.resolve('on'),
  });
  const author = { name: '', email: '' };
  const found = await screen.look({ commits: [{ author, at: '', subject: '', files }] });
  if (found.length === 0) return;
  throw new CrosstalkError(
    'held',
    `nothing was made, as it looks like a secret: ${saidSecrets(found)}; whoever can read the transport would read it: leave it out, and let the command take it from a file or from the environment of the dispatcher`,
  );
}
