import type { Repository } from './handle.ts';

/** Maximum number of objects in one fetch. */
const CHUNK = 10_000;

/**
 * Fetches the objects that a partial clone still lacks, many with one fetch: read one by one, each object
 * would take a separate connection. In other clones it does nothing. An object that cannot be fetched is
 * missing when it is read.
 */
export async function prefetch(
  { git, partial }: Repository,
  wanted: readonly string[],
): Promise<void> {
  if (partial !== true || wanted.length === 0) return;
  const listed = await git.run([
    'cat-file',
    '--batch-all-objects',
    '--unordered',
    '--batch-check=%(objectname)',
  ]);
  const here = new Set(listed.stdout.toString('latin1').split('\n'));
  const missing = [...new Set(wanted)].filter((oid) => !here.has(oid));
  for (let at = 0; at < missing.length; at += CHUNK) {
    await git.run(
      [
        '-c',
        'fetch.negotiationAlgorithm=noop',
        'fetch',
        '--quiet',
        '--no-tags',
        '--no-write-fetch-head',
        '--no-auto-maintenance',
        '--recurse-submodules=no',
        '--filter=blob:none',
        '--stdin',
        'origin',
      ],
      { input: `${missing.slice(at, at + CHUNK).join('\n')}\n`, network: true },
    );
  }
}
