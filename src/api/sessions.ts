import type { Time } from './now.ts';

/** A process of an agent CLI that this machine keeps between the runs of an actor in a thread. */
export interface WebWarmSession {
  id: string;
  actor: string;
  tier: string;
  /** Name of the CLI. */
  agent: string;
  /** The first message of the thread. */
  thread: { channel: string; relPath: string };
  pid: number;
  /** Number of its runs so far. */
  turns: number;
  /** Tokens in its context, and the context's size; null if unknown. */
  context: { used: number; size: number } | null;
  /** Bytes in memory, including its child processes. */
  memory: number;
  since: Time;
  /** Time when its last run ended. */
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
