import type { AgentSession, SessionOwner } from '../../state/sessions/agent-sessions.ts';

/** Where sessions are kept that runs can go on with. */
export interface SessionStore {
  /** Takes the place of an owner until `leave`; false while a run of it is under way. */
  claim: (owner: SessionOwner) => boolean;
  leave: (owner: SessionOwner) => void;
  /** The session of an owner, if there is one that can be gone on with. */
  of: (owner: SessionOwner) => Promise<AgentSession | undefined>;
  put: (session: AgentSession) => Promise<void>;
  end: (owner: SessionOwner) => Promise<void>;
}
