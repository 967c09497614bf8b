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

/** A command's knowledge about the dispatch it runs in; every field is absent outside of a dispatch. */
export interface Dispatch extends DispatchLink {
  /** The actor that writes in it. */
  actor?: string;
}

const PREFIX = 'CROSSTALK_DISPATCH_';

/** Returns the environment variables that describe its dispatch to a CLI (cli.md). */
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

/** Parses these variables; no other code reads them. */
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
 * Returns the part of a dispatch that links a message. The actor is left out, because the message itself
 * names its sender.
 */
export function linkOf(dispatch: Dispatch): DispatchLink {
  const link = { ...dispatch };
  delete link.actor;
  return link;
}

/** Returns an environment without the variables of a dispatch. */
export function withoutDispatch<T>(env: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith(PREFIX)));
}
