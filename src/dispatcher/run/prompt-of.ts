import type { Engine } from './engine.ts';
import { historyBetween } from '../../bus/history.ts';
import { archivesOf, notesForPrompt } from '../../bus/memories/in-force.ts';
import { peersAt } from '../../bus/peers.ts';
import { profileInForce } from '../../bus/profiles.ts';
import { isQuestion } from '../../protocol/causality.ts';
import type { Located, Message } from '../../protocol/message.ts';
import { PROTOCOL_FILE } from '../../protocol/layout.ts';
import { formatPrompt, type PromptParts } from '../../protocol/prompt/prompt.ts';
import { type BatchFiles, leftOutOf } from '../../protocol/prompt/prompt-thread.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { emptySubmodules } from '../sandbox/submodules.ts';
import { skillsOf } from '../staging/skills.ts';
import { shownThread, type Briefing } from './briefing.ts';
import { checker, fitOf } from '../../runner/schema.ts';
import type { Job } from './job.ts';
import { gateInPrompt } from './plan.ts';
import type { Turn } from '../sessions/session-of-run.ts';
import type { Workplace } from './workplace.ts';
import type { AnswerPlan, Placed } from '../../protocol/reply.ts';

/** Facts in a prompt beside the messages. */
interface Circumstances {
  place: Workplace;
  files: BatchFiles | undefined;
  runDir: string;
  letter: DeadLetter | undefined;
  /** Its session, if its tier keeps any. */
  turn: Turn | undefined;
  /** Receives the names of the skills in the prompt, in alphabetical order; not called where there is none. */
  told: (skills: string[]) => void;
}

/**
 * Returns the text that a run receives on stdin, from the messages on the bus at the commit at which its batch is
 * read.
 */
export async function promptOf(
  engine: Engine,
  job: Job,
  briefing: Briefing,
  { place, files, runDir, letter, turn, told }: Circumstances,
): Promise<string> {
  const { reader, log, secret } = engine;
  const { batch, plans } = briefing;
  const [protocol, { profile, problem }, about, thread] = await Promise.all([
    reader.text(job.tip, PROTOCOL_FILE),
    profileInForce(engine, job.tip, job.actor),
    reader.channel(job.tip, job.channel),
    shownThread(reader, job, briefing, turn?.knows),
  ]);
  if (problem !== undefined) log('profile_invalid', { actor: job.actor, problem });
  const { tip, actor, channel } = job;
  const share = letter?.reason === 'prompt_too_long' ? 0.5 : undefined;
  const cut = leftOutOf(thread, actor, share);
  const skills = await skillsOf(engine, job, batch, profile?.skills, runDir);
  const names = skills.filter((skill) => skill.told !== undefined).map(({ name }) => name);
  if (names.length > 0) told(names.sort());
  const schemas = job.plans === true ? [] : schemasOf(briefing, plans);
  if (schemas.length > 0) await checker();
  return formatPrompt({
    word: secret(8),
    protocol: protocol ?? '',
    profile: profile?.body ?? '',
    channel: about,
    ...(profile?.peers !== 'none' && {
      peers: newOf(turn, 'peers', await peersAt(engine.transport, job.tip, job.actor)),
    }),
    actor: job.actor,
    host: job.host,
    tier: job.tier.name,
    workdir: {
      path: place.dir,
      workspace: place.workspace,
      ...(place.copy && {
        ...{ of: place.copy.source.dir, branch: place.copy.tree.branch },
        empty: await emptySubmodules(place.dir),
      }),
    },
    answers: plans,
    schemas,
    gate: gateInPrompt(engine, job, briefing),
    ...(letter?.reason === 'misfit' && { misfit: letter.detail }),
    ...(share !== undefined && { threadShare: share }),
    ...(profile?.memories === 'subjects' && {
      notes: newOf(turn, 'notes', await notesForPrompt(engine.transport, { tip, actor, channel })),
    }),
    ...(cut.length > 0 && {
      archives: await archivesOf(engine.transport, { tip, home: channel }, cut),
    }),
    ...(turn?.last !== undefined && { session: { last: turn.last } }),
    ...(await earlierFor(engine, job, { batch, thread, history: profile?.history, turn })),
    thread,
    skills,
    batch,
    files,
  });
}

/** Returns a value that a session receives once, and again when it has changed. */
function newOf<T>(turn: Turn | undefined, what: string, value: T): T | undefined {
  return turn?.isNews(what, value) === false ? undefined : value;
}

/** Returns the messages between its asker and the actor before a thread that is new (warm.md, `history`). */
async function earlierFor(
  engine: Engine,
  { tip, channel, actor, tier }: Job,
  {
    batch,
    thread,
    history,
    turn,
  }: {
    batch: readonly Located[];
    thread: readonly Located[];
    history: number | undefined;
    turn: Turn | undefined;
  },
): Promise<Pick<PromptParts, 'earlier'>> {
  const most = tier.history ?? history;
  const [first] = batch;
  if (most === undefined || first === undefined || (turn && turn.kind !== 'fresh')) return {};
  const isNew = batch.every(({ message }) => isQuestion(message) && message.cause.length === 0);
  if (thread.length > 0 || !isNew) return {};
  const asker = first.message.from;
  const before = first.relPath;
  const between = { tip, channel, actor, other: asker, before, most };
  return { earlier: { asker, messages: await historyBetween(engine, between) } };
}

/** A text that is not the JSON for which the questions ask, or that cannot be checked. */
export interface SchemaMismatch {
  ok: false;
  reason: 'misfit' | 'bad_schema';
  detail: string;
}

/** A text as an answer, and the mark of the messages in which it is the JSON that was asked for. */
interface SchemaMatch {
  ok: true;
  text: string;
  mark: (answer: Placed) => Placed;
}

/** Checks a text against the JSON Schemas of the questions that it would answer. */
export async function checkSchemas(
  briefing: Pick<Briefing, 'batch' | 'lookup'>,
  plans: readonly AnswerPlan[],
  text: string,
): Promise<SchemaMatch | SchemaMismatch> {
  const schemas = schemasOf(briefing, plans);
  if (schemas.length === 0) return { ok: true, text, mark: (answer) => answer };
  const fit = await fitOf(text, schemas);
  if (fit.kind === 'fits') return { ok: true, text: `${fit.text}\n`, mark: asJson };
  const reason = fit.kind === 'misfit' ? 'misfit' : 'bad_schema';
  return { ok: false, reason, detail: fit.detail };
}

/** Returns the JSON Schemas that a run's output has to fit: those of the questions that it answers. */
function schemasOf(
  { batch, lookup }: Pick<Briefing, 'batch' | 'lookup'>,
  plans: readonly AnswerPlan[],
): string[] {
  const own = new Map(batch.map(({ relPath, message }): [string, Message] => [relPath, message]));
  const schemas = plans
    .filter(({ answers, interim }) => answers && interim !== true)
    .flatMap(({ re }) => re)
    .map((ref) => (own.get(ref) ?? lookup(ref))?.schema);
  return [...new Set(schemas.filter((schema) => schema !== undefined))];
}

function asJson({ channel, message }: Placed): Placed {
  return { channel, message: message.interim === true ? message : { ...message, json: true } };
}
