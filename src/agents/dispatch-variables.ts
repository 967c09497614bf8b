/** The dispatch in which a message is written, which links it to what is being processed (protocol.md §4). */
export interface DispatchLink {
  /** Of the run, a ULID: the message counts as sent by it. */
  id?: string;
  /** The alias of the host. */
  host?: string;
  /** The id of the channel that the batch is in. */
  channel?: string;
  /** relPaths of the batch. */
  triggers?: readonly string[];
  /** The commit that the batch was read at. */
  tip?: string;
}

/** What a command knows of the dispatch it is given in; nothing of it is known outside of one. */
export interface Dispatch extends DispatchLink {
  /** Who writes in it. */
  actor?: string;
}

const PREFIX = 'CROSSTALK_DISPATCH_';

/** How a dispatched CLI is told of its dispatch (cli.md). */
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

/** The same read back: the one place where these variables are read. */
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

/** Of a dispatch what links a message: who writes is said by the message itself. */
export function linkOf(dispatch: Dispatch): DispatchLink {
  const link = { ...dispatch };
  delete link.actor;
  return link;
}

/** An environment that belongs to no dispatch. */
export function withoutDispatch<T>(env: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith(PREFIX)));
}
