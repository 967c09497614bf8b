import { refFrom, refsFrom, type Ref } from './reference.ts';
import type { Located } from './message.ts';

/** By the origins of a message: one that stands under thousands of paths is looked through once. */
const merged = new WeakMap<readonly Ref[], { channel: string; cause: Ref[]; causes: Ref[] }>();

/** What a message was caused by, in its channel and in others, each once. */
function withOrigins(channel: string, cause: Ref[], origin?: readonly Ref[]): Ref[] {
  if (origin === undefined) return cause;
  const known = merged.get(origin);
  if (known?.channel === channel && known.cause === cause) return known.causes;
  const causes = [...new Set([...cause, ...refsFrom(channel, channel, origin)])];
  merged.set(origin, { channel, cause, causes });
  return causes;
}

/**
 * A message of `channel` as it looks from `home`: every message it names goes by the name it has there,
 * and what was being processed in another channel stands with its causes, so that whoever follows `re`
 * and `cause` follows it too. Seen twice it stays the same.
 *
 * @param located named, and naming others, as in `channel`
 */
export function seenFrom(home: string, channel: string, located: Located): Located {
  const { relPath, message } = located;
  const { origin } = message;
  if (channel === home && origin === undefined) return located;
  const causes = withOrigins(channel, message.cause, origin);
  if (channel === home) return { relPath, message: { ...message, cause: causes } };
  return {
    relPath: refFrom(home, channel, relPath),
    message: {
      ...message,
      re: refsFrom(home, channel, message.re),
      cause: refsFrom(home, channel, causes),
    },
  };
}
