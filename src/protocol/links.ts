import { isForeign, refsFrom } from './reference.ts';

/** Bytes of a list of paths in a header of 64 KiB, with room for the other fields. */
export const MAX_LINKS_BYTES = 60 * 1024;

/** Bytes of a list of paths in a header. */
export function linksBytes(relPaths: readonly string[]): number {
  return relPaths.reduce((sum, relPath) => sum + relPath.length + '  - \n'.length, 0);
}

/** What a message names, as it stands in its header. */
export interface Links {
  re: string[];
  cause: string[];
  origin: string[];
}

/**
 * The links of a message for one channel, written while messages of another may be processed.
 *
 * @param re names in `home` of messages of `target`
 * @param cause names in `home` of what is being processed
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

/** The last of some names that a header has room for: they are longer than those inside a channel. */
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
