import { isChannelId, isName, isRelPath } from '../../protocol/names.ts';
import { isRecord, isTime, JsonFolder } from '../files.ts';

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
}

/**
 * The questions for permission that are open on a machine, in a folder with a file for each. A question is
 * here before it is in the outbox, so that whatever happens to the dispatcher, it is taken back.
 */
export class OpenPermissions extends JsonFolder<OpenPermission> {
  constructor(folder: string) {
    super(folder, (value) => (isOpenPermission(value) ? value : undefined));
  }
}

function isOpenPermission(value: unknown): value is OpenPermission & { id: string } {
  if (!isRecord(value)) return false;
  const { id, run, actor, host, channel, relPath, approver, tool, mark, since, until } = value;
  const { messages } = value;
  return (
    Array.isArray(messages) &&
    messages.every(isRelPath) &&
    [id, run, tool, mark].every((text) => typeof text === 'string') &&
    [actor, host, approver].every(isName) &&
    isChannelId(channel) &&
    isRelPath(relPath) &&
    isTime(since) &&
    isTime(until)
  );
}
