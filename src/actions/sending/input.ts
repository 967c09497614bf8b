import type { AttachedFile } from '../../protocol/attached.ts';
import type { Decision } from '../../protocol/text/words.ts';
import type { Commit } from '../../protocol/outgoing.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { Message } from '../../protocol/message.ts';
import type { Delivered } from '../deliver.ts';

/** The input of a message, from any interface; it is passed on unchanged. */
export interface SendInput {
  /** The recipients; may be empty in a reply, which goes to the writer of the message that it answers. */
  to: string;
  body: string;
  channel?: string;
  from?: string;
  tier?: string;
  /** Whether it starts unrelated work, so that neither `re` nor `cause` is recorded. */
  isNew: boolean;
  /** The one of the processed messages that it is about: a relPath, or the end of one. */
  for?: string;
  /** The message that it replies to, as `<channel id>/<relPath>`; it goes to that channel. */
  reply?: string;
  /** The number of the option of that message which it chooses. */
  option?: string;
  /** The answers from which its addressees may choose. */
  options?: readonly string[];
  /** The JSON Schema that an answer has to match, as JSON text. */
  schema?: string;
  /** The message that it cancels, as `<channel id>/<relPath>`; it goes to the same addressees. */
  cancels?: string;
  /** With `cancels`: whether the tasks that others received for it continue. */
  only?: boolean;
  /** With `cancels`: whether somebody else wrote it, and no host serves its addressees. */
  asOperator?: boolean;
  /**
   * The question whose running work it is about, as `<channel id>/<relPath>`, from the same sender and in
   * its channel.
   */
  steers?: string;
  /** The decision on the message that it replies to; only the process of a person sets it. */
  decision?: Decision;
  /** With `decision`: the digest of the proposal. */
  decides?: string;
  /** The attached files; their bytes are passed separately. */
  files?: AttachedFile[];
  /** Whether of all hosts that serve an addressee, one takes it, as those with `serve: one` do. */
  one?: true;
  /** Whether its sender waits for the answers, and so may not be among the recipients. */
  awaited?: boolean;
  /** Whether it may go to names that nobody serves, where it waits. */
  anyway?: boolean;
  /** Whether names that nobody serves are refused, as they always are in a run. */
  strict?: boolean;
  wait: boolean;
  /** Whether a person releases it although it seems to contain a secret; a run cannot. */
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
  /** A commit without any reply to it yet, if the dispatcher that sent it has reported one. */
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
