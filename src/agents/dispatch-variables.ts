/**
 * The dispatch in which a message is written, which links the message to those being processed
 * (protocol.md §4).
 */
export interface DispatchLink {
  /** The ULID of the run that counts as the sender of the message. */
  id?: string;
  /** The alias of the host. */
  host?: string;
  /** The id of the channel that the batch is in. */
  channel?: string;
  /** relPaths of the batch. */
  triggers?: readonly string[];
  /** The commit at which the batch was read. */
  tip?: string;
}

/**
 * What a command knows about the dispatch it runs in; every field is absent outside of a dispatch.
 */
export interface Dispatch extends DispatchLink {
  /** The actor that writes in it. */
  actor?: string;
}

const PREFIX = 'CROSSTALK_DISPATCH_';

/** The environment variables that tell a dispatched CLI about its dispatch (cli.md). */
export function dispatchVariables(dispatch: Required<Dispatch>): Record<string, string> {
  return {
    CROSSTALK_DISPATCH_ACTOR: dispatch.actor,
    CROSSTALK_DISPATCH_HOST: dispatch.host,
    CROSSTALK_DISPATCH_CHANNEL: dispatch.channel,
    CROSSTALK_DISPATCH_RE: dispatch.triggers.join(','),
    CROSSTALK_DISPATCH_ID: dispatch.id,
    CROSSTALK_DISPATCH_TIP: dispatch.tip,
  };
}

/** Reads these variables back; the only place that does. */
export function readDispatch(env: Readonly<Record<string, string | undefined>>): Dispatch {
  const value = (name: string): string | undefined => {
    const text = env[`${PREFIX}${name}`];
    return text === '' ? undefined : text;
  };
  const [actor, host, channel] = [value('ACTOR'), value('HOST'), value('CHANNEL')];
  const [id, triggers, tip] = [value('ID'), value('RE'), value('TIP')];
  return {
    ...(actor !== undefined && { actor }),
    ...(id !== undefined && { id }),
    ...(host !== undefined && { host }),
    ...(channel !== undefined && { channel }),
    ...(triggers !== undefined && { triggers: triggers.split(',') }),
    ...(tip !== undefined && { tip }),
  };
}

/**
 * The part of a dispatch that links a message. The actor is left out, because the message itself
 * names its sender.
 */
export function linkOf(dispatch: Dispatch): DispatchLink {
  const link = { ...dispatch };
  delete link.actor;
  return link;
}

/** An environment that belongs to no dispatch. */
export function withoutDispatch<T>(env: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith(PREFIX)));
}
