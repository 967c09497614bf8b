import type { AttachedFile } from '../../protocol/attached.ts';
import type { Decision } from '../../protocol/text/decision.ts';
import type { Commit } from '../../protocol/commit.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Message } from '../../protocol/message.ts';
import type { Delivered } from '../deliver.ts';

/** A message as its sender gives it, by any interface; it is not changed on its way. */
export interface SendInput {
  /** May be empty in a reply, which goes to the writer of what it answers. */
  to: string;
  body: string;
  channel?: string;
  from?: string;
  tier?: string;
  /** Whether it starts unrelated work, so that neither `re` nor `cause` is recorded. */
  isNew: boolean;
  /** Which of the messages being processed it is about: a relPath, or the end of one. */
  for?: string;
  /** The message to which it is a reply, as `<channel id>/<relPath>`; it goes to its channel. */
  reply?: string;
  /** The number of the option of that message which it chooses. */
  option?: string;
  /** The answers from which its addressees may choose. */
  options?: readonly string[];
  /** The JSON Schema that an answer has to fit, as JSON text. */
  schema?: string;
  /** The message that it takes back, as `<channel id>/<relPath>`; it goes to its addressees. */
  cancels?: string;
  /** With `cancels`: the tasks that others were given for it go on. */
  only?: boolean;
  /** With `cancels`: somebody else wrote it, and no host serves its addressees. */
  asOperator?: boolean;
  /** The question for the work on which it is, as `<channel id>/<relPath>`, of its sender and in its channel. */
  steers?: string;
  /** What it decides on the message that it replies to; only the process of a person says that. */
  decision?: Decision;
  /** With `decision`: the digest of what was proposed. */
  decides?: string;
  /** The files that go along; their bytes travel beside this. */
  files?: AttachedFile[];
  /** Whether its sender waits for the answers, and so may not be among those who are asked. */
  awaited?: boolean;
  /** It goes to names that nobody serves, too, where it waits. */
  anyway?: boolean;
  /** Names that nobody serves are refused, as they always are in a run. */
  strict?: boolean;
  wait: boolean;
  /** A person lets it go whatever looks like a secret in it; a run cannot. */
  allowSecret?: boolean;
  login: string;
}

/** The result of sending. */
export interface Sent {
  channel: string;
  from: string;
  /** `channel` is set if it differs: an answer goes to the channel in which its addressee asked. */
  messages: { relPath: string; channel?: string; to: string[]; re: string[]; cause: string[] }[];
  delivered: Delivered;
  /** A commit at which nothing was said to it yet, if the dispatcher that sent it has told one. */
  since?: string;
}

/** A `send` that is ready to be recorded: its content can no longer be refused. */
export interface Prepared {
  /** The id of its channel. */
  channel: string;
  from: string;
  /** The id of the run that sends it. */
  dispatch: string | undefined;
  messages: (MessageRef & { message: Message; commit: Commit })[];
}
