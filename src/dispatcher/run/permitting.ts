import type { Engine } from './engine.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serverFile, SERVER_FILE, type Asking } from '../../agents/permission/asking.ts';
import { accountOf } from '../../agents/agents.ts';
import { toolOfCall } from '../../agents/permission/acp-call.ts';
import { askingOfTier } from '../../agents/sessions/warm-of.ts';
import { riskOf } from '../../agents/permission/risk.ts';
import { approverOf } from '../../protocol/decision/judge.ts';
import { PERMIT_TIMEOUT } from '../../protocol/files/tier-gate.ts';
import { type MessageRef, isRelPath, refFrom } from '../../protocol/layout.ts';
import { RunPermission } from '../permission/run-permission.ts';
import type { Briefing } from './briefing.ts';
import type { Job } from './job.ts';
import type { Workplace } from './workplace.ts';

/** Questions of a run for permission: their form and their addressee. */
export interface Permitting {
  /** Flags that are added to its command line. */
  flags: string;
  /** Address of the person who decides. */
  approver: string;
  /** The messages that it works on. */
  re: readonly string[];
}

/** The most messages that a question names. */
const MOST_NAMED = 20;
/** Milliseconds for which a CLI waits longer than its question is open. */
const SLACK_MS = 300_000;

/**
 * Returns the way in which a run asks for permission, or the reason why it cannot; undefined where it need not, as
 * for a plan.
 */
export function permitOf({ tier, plans }: Job): Asking | undefined {
  return tier.permit === undefined || plans === true ? undefined : askingOfTier(tier);
}

/**
 * Forwards the questions of a pooled process to a person: the note of a denial does not reach it, as the protocol has
 * none.
 */
export function permitOverAcp(
  permission: RunPermission,
  newId: () => string,
): (call: unknown, gone: AbortSignal) => Promise<boolean> {
  return async (call, gone) => {
    const input = toolOfCall(call);
    const answer = await permission.ask({ id: newId(), input }, gone, () => undefined);
    return answer.behavior === 'allow';
  };
}

/** Returns the person whom a run asks, and the messages that its questions name. */
export function permittingOf(
  engine: Engine,
  { actor, channel, tier, messages }: Job,
  { batch, lookup, plans }: Briefing,
  root: MessageRef,
  flags: string,
): Permitting {
  const ref = refFrom(channel, root.channel, root.relPath);
  const begun = lookup(ref) ?? batch.find(({ relPath }) => relPath === ref)?.message;
  const actors = engine.hosts.active?.actors;
  const isActor = (name: string): boolean => name === actor || actors?.has(name) === true;
  // A question stands in the channel of the run, so it names messages that are there.
  const questions = plans.flatMap(({ re, answers }) => (answers ? re.filter(isRelPath) : []));
  return {
    flags,
    approver: approverOf(tier.permit ?? '', begun, engine.operator, isActor),
    re: (questions.length > 0 ? questions : messages).slice(-MOST_NAMED),
  };
}

/** Makes the questions of a run, if its tier has somebody asked. */
export function runPermission(
  engine: Engine,
  { id, actor, host, channel, tier, messages }: Job,
  place: Workplace,
  { approver, re }: Permitting,
): RunPermission {
  const where = { workdir: place.dir, home: engine.env['HOME'] ?? '/' };
  const timeout = tier.permitTimeout ?? PERMIT_TIMEOUT;
  return new RunPermission(
    {
      ...{ id, actor, host, channel, messages, approver, re, timeout },
      markOf: (tool, input) => riskOf(accountOf(tier.cli)?.agent.name, tool, input, where),
      tell: (text) => {
        engine.transcribing.tell(id, text);
      },
    },
    engine.permissions,
  );
}

/** Puts the file that states to the CLI whom to ask into a run's directory; it belongs to this run alone. */
export async function stageServer(engine: Engine, { tier }: Job, runDir: string): Promise<void> {
  const patience = (tier.permitTimeout ?? PERMIT_TIMEOUT) + SLACK_MS;
  const content = serverFile(join(engine.paths.bin, 'crosstalk'), runDir, patience);
  await writeFile(join(runDir, SERVER_FILE), content, { mode: 0o600, flag: 'wx' });
}
