import type { Time } from './now.ts';

/** A process of an agent CLI that this machine keeps between the runs of an actor in a thread. */
export interface WebWarmSession {
  id: string;
  actor: string;
  tier: string;
  /** The CLI. */
  agent: string;
  /** The first message of the thread. */
  thread: { channel: string; relPath: string };
  pid: number;
  /** How many runs it has had. */
  turns: number;
  /** How full its context is, in tokens; null where that is not known. */
  context: { used: number; size: number } | null;
  /** Bytes in memory, with what it has started. */
  memory: number;
  since: Time;
  /** When its last run ended. */
  used: Time;
}

/** `GET /api/sessions`. */
export interface WebSessions {
  sessions: WebWarmSession[];
}

/** `POST /api/sessions/{id}/end`. */
export interface WebSessionEnded {
  id: string;
  actor: string;
  agent: string;
}
