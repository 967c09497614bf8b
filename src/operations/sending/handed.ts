import { linkOf, type DispatchLink } from '../../agents/dispatch-variables.ts';
import { filesIn } from '../../protocol/attached.ts';
import { isRecord } from '../../state/files.ts';
import { dispatchOf, writerOf, type Surroundings } from '../locate.ts';
import type { SendInput } from './input.ts';
import type { Marks } from './marks.ts';

/** A {@link SendInput} for another process, which uses no environment. */
export interface HandedInput extends SendInput {
  /** The dispatch that links the message; absent if there is none. */
  link?: DispatchLink;
}

/**
 * A `send` that one process passes to another, with everything that makes its outcome reproducible.
 */
export interface HandedSend extends Marks {
  /** The absolute path of the transport for which it is meant. */
  dir: string;
  /** All input of the `send`: nothing is taken from the environment of either process. */
  input: HandedInput;
}

/** The input of a command, completed from its surroundings: the sender, the channel and the link. */
export function handedInput(surroundings: Surroundings, input: SendInput): HandedInput {
  const dispatch = dispatchOf(surroundings);
  const link = linkOf(dispatch);
  const from = input.from ?? writerOf(surroundings);
  const channel = input.channel ?? dispatch.channel;
  return {
    ...input,
    ...(from !== undefined && { from }),
    ...(channel !== undefined && { channel }),
    ...(Object.keys(link).length > 0 && { link }),
  };
}

/** What a message may say since talk.md; a dispatcher of 6.0.0 would leave it out, and say nothing. */
const SINCE = ['reply', 'option', 'schema', 'cancels', 'only'] as const;

/**
 * The name under which a `send` is handed over. One with anything of talk.md has a name that an older
 * dispatcher does not understand; the command then does the work itself.
 */
export function sendOp({ options = [], files = [], ...input }: SendInput): 'send' | 'send_talk' {
  const isPlain =
    options.length + files.length === 0 && SINCE.every((key) => input[key] === undefined);
  return isPlain ? 'send' : 'send_talk';
}

/**
 * Whether a value is a request; it comes from a command of the same user, perhaps of another
 * version.
 */
export function isSendRequest(value: unknown): value is HandedSend {
  if (!isRecord(value) || !isRecord(value['input'])) return false;
  const { dir, id, at, seed, input } = value;
  if (input['link'] !== undefined && !isDispatchLink(input['link'])) return false;
  // A decision is made in the process of whoever decides; one that is handed over is none.
  if (input['decision'] !== undefined || input['decides'] !== undefined) return false;
  if (input['files'] !== undefined && filesIn(input['files']) === undefined) return false;
  return [dir, id, at, seed, input['to'], input['body'], input['login']].every(
    (text) => typeof text === 'string',
  );
}

function isDispatchLink(value: unknown): value is DispatchLink {
  if (!isRecord(value)) return false;
  const { id, host, channel, tip, triggers = [] } = value;
  const isText = (text: unknown): boolean => text === undefined || typeof text === 'string';
  return (
    [id, host, channel, tip].every(isText) && Array.isArray(triggers) && triggers.every(isText)
  );
}
