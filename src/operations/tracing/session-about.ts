import type { Lookup } from '../../protocol/causality.ts';
import { sessionIn, type SessionKind } from '../../protocol/files/tier-session.ts';
import type { Located } from '../../protocol/message.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import { threadRoot } from '../../protocol/thread.ts';
import { AgentSessions } from '../../state/sessions/agent-sessions.ts';
import { KeptProcesses } from '../../state/sessions/kept-processes.ts';
import type { Context } from '../context.ts';
import type { Naming } from '../lookup/naming.ts';

/** What is known of the sessions in which a message was handled, or will be. */
export interface SessionAbout {
  /** How the run began that has answered it, as the answer says. */
  run?: SessionKind;
  /** The session of this machine with which the next run in its thread goes on, if nothing has changed. */
  next?: {
    agent: string;
    tier: string;
    turns: number;
    used: string;
    /** Whether its process is kept. */
    kept?: true;
  };
}

/** @returns undefined where neither is known, as in a tier that keeps no sessions */
export async function sessionAbout(
  context: Context,
  { channel, relPath, message }: MessageRef & Located,
  actor: string,
  lookup: Lookup,
  naming: Naming,
): Promise<SessionAbout | undefined> {
  const root = placeOfRef(channel, threadRoot([{ relPath, message }], lookup));
  const owner = { actor, channel: root.channel, root: root.relPath };
  // A run may not look into the state of its machine.
  const processes = await new KeptProcesses(context.paths.root).alive().catch(() => []);
  const warm = processes.find(
    (one) => one.actor === owner.actor && one.channel === owner.channel && one.root === owner.root,
  );
  const kept =
    warm ?? (await new AgentSessions(context.paths.root).of(owner).catch(() => undefined));
  const answers = (await naming({ channel, relPath }, 're')).filter(
    (one) => one.message.from === actor,
  );
  const kinds = answers.flatMap(({ message: { extra } }) => sessionIn(extra['session']) ?? []);
  const [run] = kinds;
  if (run === undefined && kept === undefined) return undefined;
  return {
    ...(run && { run }),
    ...(kept && {
      next: {
        ...{ agent: kept.agent, tier: kept.tier, turns: kept.turns, used: kept.used },
        ...(warm && { kept: true as const }),
      },
    }),
  };
}

/** The same in words, a line each. */
export function sessionLines({ run, next }: SessionAbout): string[] {
  const began = {
    fresh: 'its run began a session',
    resumed: 'its run went on with a session',
    warm: 'its run went on with a session whose process was kept',
  };
  return [
    ...(run === undefined ? [] : [began[run]]),
    ...(next === undefined
      ? []
      : [
          `the next run in this thread goes on with a session of ${next.agent}${next.kept === true ? ' whose process is kept' : ''} (tier ${next.tier}, ${next.turns === 1 ? '1 run' : `${String(next.turns)} runs`} so far), unless something has changed`,
        ]),
  ];
}
