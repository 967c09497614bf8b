import type { Engine } from './engine.ts';
import { earlierBetween } from '../../bus/earlier.ts';
import { archivesOf, notesForPrompt } from '../../bus/memories/in-force.ts';
import { peersAt } from '../../bus/peers.ts';
import { profileInForce } from '../../bus/profiles.ts';
import { isQuestion } from '../../protocol/causality.ts';
import type { Located } from '../../protocol/message.ts';
import { PROTOCOL_FILE } from '../../protocol/layout.ts';
import { formatPrompt, type PromptParts } from '../../protocol/prompt/prompt.ts';
import type { BatchFiles } from '../../protocol/prompt/prompt-files.ts';
import { leftOutOf } from '../../protocol/prompt/prompt-thread.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { emptySubmodules } from '../sandbox/submodules.ts';
import { skillsOf } from '../laying/skills.ts';
import { shownThread, type Briefing } from './briefing.ts';
import { checker } from '../../runner/schema.ts';
import { schemasOf } from './fitting.ts';
import type { Job } from './job.ts';
import { gateInPrompt } from './plan.ts';
import type { Turn } from '../sessions/session-of-run.ts';
import type { Workplace } from './workplace.ts';

/** What a prompt tells beside the messages. */
interface Circumstances {
  place: Workplace;
  files: BatchFiles | undefined;
  runDir: string;
  letter: DeadLetter | undefined;
  /** Its session, if its tier keeps any. */
  turn: Turn | undefined;
  /** Takes the names of the skills that it tells, in alphabetical order; not called where there is none. */
  told: (skills: string[]) => void;
}

/** The text that a run gets on stdin, from what is on the bus at the commit at which its batch is read. */
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

/** What a session is told once, and again when it has changed. */
function newOf<T>(turn: Turn | undefined, what: string, value: T): T | undefined {
  return turn?.isNews(what, value) === false ? undefined : value;
}

/** What its asker and the actor have said to each other before a thread that is new (warm.md, `history`). */
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
  return { earlier: { asker, messages: await earlierBetween(engine, between) } };
}
