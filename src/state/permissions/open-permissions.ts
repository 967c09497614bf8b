import { Rows } from '../../store/rows.ts';

/** A question for permission that a run waits for. Times are ISO 8601 UTC. */
export interface OpenPermission {
  /** A ULID. */
  id: string;
  /** The run that asks. */
  run: string;
  actor: string;
  host: string;
  /** The id of the channel, and the message that asks. */
  channel: string;
  relPath: string;
  /** The messages that the run answers, at most 100. */
  messages: string[];
  /** The name of who decides. */
  approver: string;
  tool: string;
  mark: string;
  since: string;
  /** When it counts as denied. */
  until: string;
  /** What a decision on it is bound to; unknown where an older version has asked. */
  digest?: string;
}

/**
 * The questions for permission that are open on a machine. A question is here before it is in the outbox, so
 * that whatever happens to the dispatcher, it is taken back.
 */
export class OpenPermissions extends Rows<OpenPermission> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'permission');
  }
}
