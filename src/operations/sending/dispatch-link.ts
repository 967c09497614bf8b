import type { DispatchLink, SendInput } from './input.ts';
import { isRecord } from '../../state/files.ts';

/**
 * What a command is given with what its environment adds: the sender, the channel and the dispatch. The one
 * place where a `send` reads the environment.
 */
export function fromEnvironment(env: NodeJS.ProcessEnv, input: SendInput): SendInput {
  const value = (name: string): string | undefined => {
    const text = env[`CROSSTALK_${name}`];
    return text === '' ? undefined : text;
  };
  const from = input.from ?? value('DISPATCH_ACTOR') ?? value('FROM');
  const channel = input.channel ?? value('DISPATCH_CHANNEL');
  const [id, host, triggers] = [value('DISPATCH_ID'), value('DISPATCH_HOST'), value('DISPATCH_RE')];
  const [origin, tip] = [value('DISPATCH_CHANNEL'), value('DISPATCH_TIP')];
  const link: DispatchLink = {
    ...(id !== undefined && { id }),
    ...(host !== undefined && { host }),
    ...(origin !== undefined && { channel: origin }),
    ...(triggers !== undefined && { triggers: triggers.split(',') }),
    ...(tip !== undefined && { tip }),
  };
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

/** An environment that belongs to no dispatch. */
export function withoutDispatch(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('CROSSTALK_DISPATCH_')),
  );
}
