import { Rows } from '../../store/rows.ts';

/** A request for permission that a run waits for. Times are ISO 8601 UTC. */
export interface OpenPermission {
  /** A ULID. */
  id: string;
  /** The requesting run. */
  run: string;
  actor: string;
  host: string;
  /** The id of the channel, and the relPath of the message with the request. */
  channel: string;
  relPath: string;
  /** The messages that the run answers, at most 100. */
  messages: string[];
  /** The name of the person who decides. */
  approver: string;
  tool: string;
  mark: string;
  since: string;
  /** Time when it counts as denied. */
  until: string;
  /** The digest that a decision on it is bound to; absent when an older version has asked. */
  digest?: string;
}

/**
 * The open requests for permission of a machine. A request is here before it is in the outbox, so that it
 * is withdrawn whatever happens to the dispatcher.
 */
export class OpenPermissions extends Rows<OpenPermission> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'permission');
  }
}
