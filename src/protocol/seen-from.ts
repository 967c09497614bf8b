import { refFrom, refsFrom, type Ref } from './reference.ts';
import type { Located } from './message.ts';

/** Cached by the origins of a message, so that one with thousands of paths is processed once. */
const merged = new WeakMap<readonly Ref[], { channel: string; cause: Ref[]; causes: Ref[] }>();

/** The causes of a message, in its channel and in others, each once. */
function withOrigins(channel: string, cause: Ref[], origin?: readonly Ref[]): Ref[] {
  if (origin === undefined) return cause;
  const known = merged.get(origin);
  if (known?.channel === channel && known.cause === cause) return known.causes;
  const causes = [...new Set([...cause, ...refsFrom(channel, channel, origin)])];
  merged.set(origin, { channel, cause, causes });
  return causes;
}

/**
 * A message of `channel` as it is seen from `home`: every message it names has the name relative to
 * `home`, and messages of other channels that were being processed are among its causes, so that
 * code which follows `re` and `cause` follows them too. Applying it twice changes nothing.
 *
 * @param located a message whose names are relative to `channel`
 */
export function seenFrom(home: string, channel: string, located: Located): Located {
  const { relPath, message } = located;
  const { origin, cancels } = message;
  if (channel === home && origin === undefined) return located;
  const causes = withOrigins(channel, message.cause, origin);
  if (channel === home) return { relPath, message: { ...message, cause: causes } };
  return {
    relPath: refFrom(home, channel, relPath),
    message: {
      ...message,
      re: refsFrom(home, channel, message.re),
      cause: refsFrom(home, channel, causes),
      ...(cancels === undefined ? {} : { cancels: refsFrom(home, channel, [cancels])[0] }),
    },
  };
}
