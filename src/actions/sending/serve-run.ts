import { decodeTime } from 'ulid';
import type { Dispatch } from '../../agents/dispatch-variables.ts';
import type { PublishOutcome } from '../../bus/publisher.ts';
import { fenceOf } from '../../protocol/claim.ts';
import { withoutOurs } from '../../dispatcher/run/workplace.ts';
import type { Handling, RunFacts } from '../../dispatcher/run/endpoint.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { filesIn, type AttachedFile } from '../../protocol/attached.ts';
import { MEMORY_CHANGES, type MemoryChange } from '../../protocol/files/memory.ts';
import { shown } from '../../protocol/text/result.ts';
import { isRecord } from '../../state/files.ts';
import { RUN_HAS_ENDED } from '../../state/run-directory.ts';
import { createChannel } from '../reading/channels.ts';
import type { Context } from '../context.ts';
import type { BytesFor } from './attached.ts';
import { type RunAnswer, type RunRequest, stagedFiles } from './in-run.ts';
import { addMemory } from '../memory/add.ts';
import { changeMemory } from '../memory/change.ts';
import type { LookUps } from './look-up.ts';
import { suffixOf, type IdempotencyKey } from './handed.ts';
import { perform } from './perform.ts';

/** The dispatcher's own parts for requests of runs. */
interface ServingRuns {
  publish: (id: string) => Promise<PublishOutcome>;
  lookUps: LookUps;
}

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const SEED = /^[0-9a-f]{16,64}$/;
/** Milliseconds by which a run's clock may seem ahead of its dispatcher's, on the same machine. */
const SKEW_MS = 60_000;

/**
 * Carries out a request of a run inside the dispatcher (trust.md §3). The request may come from a model
 * that was manipulated, through a file: the sender, the place and the subject are taken from the
 * dispatcher's own record, and the request is strictly validated.
 *
 * The bytes of files come with the request, and are verified when they are stored: a run sends files that
 * it can read itself, and no path that it names is opened.
 */
export async function serveRun(
  context: Context,
  { publish, lookUps }: ServingRuns,
  run: RunFacts,
  request: unknown,
  handling: Handling,
): Promise<RunAnswer> {
  const { durable, bytesOf } = handling;
  const notes: string[] = [];
  try {
    const { kind, input, ...given } = requestOf(request);
    if (kind === 'look' || kind === 'files') {
      // A lost request to read is repeated by the run.
      durable();
      const asked = { id: given.id, input };
      return { result: await lookedUp(context, lookUps, run, { kind, ...asked }, handling), notes };
    }
    assertSender(run, input);
    const marks = marksOf(context, run, given);
    const theirs: Context = {
      ...context,
      ...reproducible(marks),
      env: withoutOurs(context.env),
      dispatch: dispatchOf(run),
      fence: fenceOf(run.claims ?? []),
      publish,
      note: (line) => {
        notes.push(line);
      },
    };
    const bytesFor: BytesFor = ({ sha256, bytes }) => bytesOf(given.id, sha256, bytes);
    const asked = { kind, input, ...marks };
    return { result: await work(theirs, run, asked, { onDurable: durable, bytesFor }), notes };
  } catch (error) {
    const code = error instanceof CrosstalkError ? error.code : 'internal';
    return { error: { code, message: reasonOf(error) }, notes };
  }
}

function lookedUp(
  context: Context,
  lookUps: LookUps,
  run: RunFacts,
  { kind, id, input }: { kind: 'look' | 'files'; id: string; input: Record<string, unknown> },
  { gone, put }: Handling,
): Promise<unknown> {
  if (kind === 'look') return lookUps.look(run, input['words'], gone);
  const message = textIn(input)('message');
  return stagedFiles({ ...context, isFollowed: true }, message, gone, (sha256, bytes) =>
    put(id, sha256, bytes),
  );
}

/** Returns the dispatch from the dispatcher's own record; the run's claims about it are ignored. */
function dispatchOf({ id, actor, host, channel, messages, tip }: RunFacts): Dispatch {
  return { id, actor, host, channel, triggers: messages, ...(tip !== undefined && { tip }) };
}

/**
 * Returns the marks of a request, as far as the run may choose them: it cannot name an outbox entry of
 * another sender, and the time is one at which the run existed.
 */
function marksOf(
  context: Context,
  run: RunFacts,
  { id, at, seed }: IdempotencyKey,
): IdempotencyKey {
  const time = Date.parse(at);
  const now = context.now().getTime();
  const plausible = time >= decodeTime(run.id) - SKEW_MS && time <= now + SKEW_MS;
  return { id: `${id}-${run.id}`, at: new Date(plausible ? time : now).toISOString(), seed };
}

/** Returns a clock and names that are the same each time a request is carried out. */
function reproducible({ id, at, seed }: IdempotencyKey): Pick<Context, 'now' | 'suffix' | 'newId'> {
  let serial = 0;
  return {
    now: () => new Date(at),
    suffix: () => suffixOf(seed, serial++),
    newId: () => id,
  };
}

function work(
  context: Context,
  run: RunFacts,
  { kind, input, ...marks }: Asked & { kind: Exclude<Asked['kind'], 'look' | 'files'> },
  { onDurable, bytesFor }: { onDurable: () => void; bytesFor: BytesFor },
): Promise<unknown> {
  const text = textIn(input);
  const optional = <K extends string>(...names: K[]): Partial<Record<K, string>> =>
    Object.fromEntries(
      names.filter((name) => input[name] !== undefined).map((name) => [name, text(name)]),
    ) as Partial<Record<K, string>>;
  const common = { from: run.actor, login: run.actor };
  const onRecording = (): void => {
    assertNotTakenBack(run);
  };
  switch (kind) {
    case 'send':
    case 'send_talk':
      return perform(
        context,
        {
          ...common,
          to: text('to'),
          body: text('body'),
          ...optional('channel', 'tier', 'for', 'reply', 'option', 'schema'),
          options: words(input['options']),
          isNew: input['isNew'] === true,
          anyway: input['anyway'] === true,
          ...(input['one'] === true && { one: true as const }),
          wait: input['wait'] !== false,
          ...(input['files'] !== undefined && { files: filesOf(input) }),
        },
        marks,
        { onDurable, bytesFor, onRecording },
      );
    case 'channel':
      return createChannel(context, {
        ...common,
        name: text('name'),
        ...optional('parent', 'description'),
      });
    case 'memory':
    case 'memory_add':
      return addMemory(context, {
        ...common,
        subject: text('subject'),
        body: text('body'),
        scope: text('scope'),
        ...optional('name', 'kind'),
        supersedes: words([input['supersedes']].flat()),
        alias: words(input['alias']),
      });
    case 'memory_change':
      return changeMemory(context, {
        ...common,
        change: changeOf(input),
        memory: text('memory'),
        ...optional('reason'),
        words: words(input['words']),
      });
  }
}

function changeOf({ change }: Record<string, unknown>): MemoryChange {
  const known = MEMORY_CHANGES.find((one) => one === change);
  if (known !== undefined) return known;
  throw new CrosstalkError(
    'usage',
    `change is ${shown(change)}, expected ${MEMORY_CHANGES.join(', ')}`,
  );
}

const KINDS = [
  ...(['send', 'send_talk', 'channel', 'look', 'files'] as const),
  ...(['memory', 'memory_add', 'memory_change'] as const),
] as const;

/** A request whose input was not validated yet. */
type Asked = Omit<RunRequest, 'input'> & { input: Record<string, unknown> };

function requestOf(value: unknown): Asked {
  const { kind, id, at, seed, input } = isRecord(value) ? value : {};
  const known = KINDS.find((one) => one === kind);
  if (
    known !== undefined &&
    matches(id, ULID) &&
    matches(seed, SEED) &&
    typeof at === 'string' &&
    isRecord(input)
  )
    return { kind: known, id, at, seed, input };
  throw new CrosstalkError('usage', 'this is no request of a run; use crosstalk send');
}

/** Refuses a request of a run whose task was cancelled since the request came. */
function assertNotTakenBack({ cancel }: RunFacts): void {
  if (cancel?.aborted === true) throw new CrosstalkError('refused', RUN_HAS_ENDED);
}

function assertSender({ actor }: RunFacts, { from }: Record<string, unknown>): void {
  if (from === undefined || from === actor) return;
  throw new CrosstalkError(
    'usage',
    `not for a run, --from ${shown(from)}: it writes as ${actor}; leave --from out`,
  );
}

function textIn(input: Record<string, unknown>): (name: string) => string {
  return (name) => {
    const value = input[name];
    if (typeof value === 'string') return value;
    throw new CrosstalkError('usage', `${name} is ${shown(value)}, expected a text`);
  };
}

function filesOf({ files }: Record<string, unknown>): AttachedFile[] {
  const named = filesIn(files);
  if (named !== undefined) return named;
  throw new CrosstalkError('usage', 'files cannot be read as a list; use crosstalk send --attach');
}

function words(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((word): word is string => typeof word === 'string')
    : [];
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}
