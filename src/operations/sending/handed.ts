import { linkOf, readDispatch, type DispatchLink } from '../../agents/dispatch-variables.ts';
import { isRecord } from '../../state/files.ts';
import { writerOf, type Surroundings } from '../locate.ts';
import type { SendInput } from './input.ts';

/** What a command is given with what its surroundings add: the sender, the channel and the dispatch. */
export function inSurroundings(surroundings: Surroundings, input: SendInput): SendInput {
  const { env, dispatch = readDispatch(env) } = surroundings;
  const link = linkOf(dispatch);
  const from = input.from ?? writerOf(surroundings);
  const channel = input.channel ?? link.channel;
  return {
    ...input,
    ...(from !== undefined && { from }),
    ...(channel !== undefined && { channel }),
    ...(Object.keys(link).length > 0 && { link }),
  };
}

/** Whether what another process says is a link. */
export function isDispatchLink(value: unknown): value is DispatchLink {
  if (!isRecord(value)) return false;
  const { id, host, channel, tip, triggers = [] } = value;
  const isText = (text: unknown): boolean => text === undefined || typeof text === 'string';
  return (
    [id, host, channel, tip].every(isText) && Array.isArray(triggers) && triggers.every(isText)
  );
}
