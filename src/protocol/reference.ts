import type { MessageRef } from './message-ref.ts';
import { isChannelId, isRelPath } from './names.ts';

/**
 * Name of a message relative to a channel: its relPath inside that channel, and `<channel id>/<relPath>` in
 * any other (talk.md, "Across channels").
 */
export type Ref = string;

/** Whether a text names a message of any channel, as `origin` does: `<channel id>/<relPath>`. */
export function isOrigin(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  const slash = text.indexOf('/');
  return slash > 0 && isChannelId(text.slice(0, slash)) && isRelPath(text.slice(slash + 1));
}

/** Returns the name in `home` of a message of `channel`. */
export function refFrom(home: string, channel: string, relPath: string): Ref {
  return channel === home ? relPath : `${channel}/${relPath}`;
}

/** Returns the channel and relPath to which a name in `home` refers. */
export function placeOfRef(home: string, ref: Ref): MessageRef {
  if (!isForeign(ref)) return { channel: home, relPath: ref };
  const slash = ref.indexOf('/');
  return { channel: ref.slice(0, slash), relPath: ref.slice(slash + 1) };
}

/** Compares messages of several channels by time, that is by relPath, in whichever channel they are. */
export function byTime(one: Ref, other: Ref): number {
  const [a, b] = [placeOfRef('', one).relPath, placeOfRef('', other).relPath];
  return a === b ? (one < other ? -1 : Number(one > other)) : a < b ? -1 : 1;
}

/** Whether a name refers to a message of another channel than the current one. */
export function isForeign(ref: Ref): boolean {
  return isOrigin(ref);
}

/** Converts names in `channel` to names in `home`. */
export function refsFrom(home: string, channel: string, refs: readonly Ref[]): Ref[] {
  return refs.map((ref) => {
    const place = placeOfRef(channel, ref);
    // Return the same string where it does not change, because a header may contain hundreds.
    return isForeign(ref) && place.channel !== home
      ? ref
      : refFrom(home, place.channel, place.relPath);
  });
}

/** Groups names in `home` by channel, as relPaths. */
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
