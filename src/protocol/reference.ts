import type { MessageRef } from './message-ref.ts';
import { isChannelId, isRelPath } from './names.ts';

/**
 * How a message is named from where one stands: by its relPath inside the channel at hand, and by
 * `<channel id>/<relPath>` in any other (talk.md, "Across channels").
 */
export type Ref = string;

/** A message of any channel, as `origin` names it: `<channel id>/<relPath>`. */
export function isOrigin(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  const slash = text.indexOf('/');
  return slash > 0 && isChannelId(text.slice(0, slash)) && isRelPath(text.slice(slash + 1));
}

/** How a message of `channel` is named in `home`. */
export function refFrom(home: string, channel: string, relPath: string): Ref {
  return channel === home ? relPath : `${channel}/${relPath}`;
}

/** The channel and relPath that a name stands for in `home`. */
export function placeOfRef(home: string, ref: Ref): MessageRef {
  if (!isForeign(ref)) return { channel: home, relPath: ref };
  const slash = ref.indexOf('/');
  return { channel: ref.slice(0, slash), relPath: ref.slice(slash + 1) };
}

/** The order of messages of several channels: by relPath, whichever channel they are in. */
export function byTime(one: Ref, other: Ref): number {
  const [a, b] = [placeOfRef('', one).relPath, placeOfRef('', other).relPath];
  return a === b ? (one < other ? -1 : Number(one > other)) : a < b ? -1 : 1;
}

/** Whether a name stands for a message of another channel than the one at hand. */
export function isForeign(ref: Ref): boolean {
  return isOrigin(ref);
}

/** Names of `channel` as they are in `home`. */
export function refsFrom(home: string, channel: string, refs: readonly Ref[]): Ref[] {
  return refs.map((ref) => {
    const place = placeOfRef(channel, ref);
    // The text itself where it stays the same: a header names hundreds.
    return isForeign(ref) && place.channel !== home
      ? ref
      : refFrom(home, place.channel, place.relPath);
  });
}

/** Names in `home`: the relPaths of each channel they stand for. */
export function byChannel(home: string, refs: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const ref of refs) {
    const { channel, relPath } = placeOfRef(home, ref);
    const list = found.get(channel);
    if (list === undefined) found.set(channel, [relPath]);
    else list.push(relPath);
  }
  return found;
}
