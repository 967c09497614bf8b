import { readHosts, type HostEntry } from '../bus/host.ts';
import type { Channel } from '../protocol/files/channel.ts';
import { tipOf, type Context } from './context.ts';

/** Returns the same context, in which every part sees the bus at `tip`. */
export function viewedAt(context: Context, tip: string): Context {
  const channels = once(() => context.reader.channels(tip));
  const hosts = once(() => readHosts(context.transport, tip));
  return { ...context, view: { tip, channels, hosts } };
}

/** Returns the channels, at the commit on which this response is based. */
export async function channelsOf(context: Context): Promise<Channel[]> {
  return context.view?.channels() ?? context.reader.channels(await tipOf(context));
}

/** Returns the host files, at the commit on which this response is based. */
export async function hostsOf(context: Context): Promise<HostEntry[]> {
  return context.view?.hosts() ?? readHosts(context.transport, await tipOf(context));
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => (reading ??= read());
}
