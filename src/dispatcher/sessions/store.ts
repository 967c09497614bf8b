import type { AgentSession, SessionOwner } from '../../state/sessions/agent-sessions.ts';

/** Store of the sessions that runs can continue. */
export interface SessionStore {
  /** Takes the place of an owner until `leave`; false while a run of it is under way. */
  claim: (owner: SessionOwner) => boolean;
  leave: (owner: SessionOwner) => void;
  /** Returns the session of an owner, if there is one that can be continued. */
  of: (owner: SessionOwner) => Promise<AgentSession | undefined>;
  put: (session: AgentSession) => Promise<void>;
  end: (owner: SessionOwner) => Promise<void>;
}
