import { linkOf, type Dispatch, type DispatchLink } from '../../agents/dispatch-variables.ts';
import { isRecord } from '../../state/files.ts';
import { dispatchOf, writerOf, type Surroundings } from '../locate.ts';
import type { SendInput } from './input.ts';
import type { Marks } from './marks.ts';

/** A {@link SendInput} as it goes to another process, which takes nothing from an environment. */
export interface HandedInput extends Omit<SendInput, 'answers'> {
  /** What links the message; absent where nothing does. */
  link?: DispatchLink;
}

/** A `send` as one process hands it to another, with all that makes its outcome the same twice. */
export interface HandedSend extends Marks {
  /** Absolute path of the transport it is meant for. */
  dir: string;
  /** Everything it goes by: nothing is taken from the environment of either process. */
  input: HandedInput;
}

/** What links a message to others: what it says that it answers, else the dispatch it is written in. */
export function linkIn(dispatch: Dispatch, { answers }: SendInput): DispatchLink {
  return answers === undefined ? linkOf(dispatch) : { triggers: [answers] };
}

/** What a command was given with what its surroundings add: the sender, the channel and the link. */
export function handedInput(surroundings: Surroundings, input: SendInput): HandedInput {
  const dispatch = dispatchOf(surroundings);
  const link = linkIn(dispatch, input);
  const { answers, ...said } = input;
  const from = said.from ?? writerOf(surroundings);
  const channel = said.channel ?? (answers === undefined ? dispatch.channel : undefined);
  return {
    ...said,
    ...(from !== undefined && { from }),
    ...(channel !== undefined && { channel }),
    ...(Object.keys(link).length > 0 && { link }),
  };
}

/** Whether a request is one: it comes from a command of the same user, perhaps of another version. */
export function isSendRequest(value: unknown): value is HandedSend {
  if (!isRecord(value) || !isRecord(value['input'])) return false;
  const { dir, id, at, seed, input } = value;
  if (input['link'] !== undefined && !isDispatchLink(input['link'])) return false;
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
