import { isForeign, refsFrom } from './reference.ts';

/** The most bytes of a list of paths: a header has 64 KiB, including its other fields. */
export const MAX_LINKS_BYTES = 60 * 1024;

/** The number of bytes that a list of paths takes in a header. */
export function linksBytes(relPaths: readonly string[]): number {
  return relPaths.reduce((sum, relPath) => sum + relPath.length + '  - \n'.length, 0);
}

/** The names of other messages in a message's header. */
export interface Links {
  re: string[];
  cause: string[];
  origin: string[];
}

/**
 * The links of a message for one channel that is written while messages of another channel may be
 * processed.
 *
 * @param re names in `home` of messages of `target`
 * @param cause names in `home` of the messages being processed
 */
export function linksIn(
  target: string,
  home: string,
  re: readonly string[],
  cause: readonly string[],
): Links {
  const causes = refsFrom(target, home, cause);
  const room = MAX_LINKS_BYTES - linksBytes(refsFrom(target, home, re));
  return {
    re: refsFrom(target, home, re),
    cause: causes.filter((ref) => !isForeign(ref)),
    origin: fitting(
      causes.filter((ref) => isForeign(ref)),
      room,
    ),
  };
}

/**
 * The last of some names that fit into a header, since they are longer than names inside a channel.
 */
function fitting(refs: readonly string[], room: number): string[] {
  const fit: string[] = [];
  let bytes = 0;
  for (const ref of [...refs].reverse()) {
    bytes += linksBytes([ref]);
    if (bytes > room) break;
    fit.unshift(ref);
  }
  return fit;
}
