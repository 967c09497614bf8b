import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from './bus.ts';
import { git } from './git.ts';

/**
 * Pushes entries of an index, as `<mode> <content> <path>` each, in the way in which anybody with
 * git can; the mode 0 removes an entry.
 */
export function push(
  host: Host,
  entries: readonly (readonly [mode: string, content: string, path: string])[],
): void {
  const { bus } = host;
  const clone = mkdtempSync(join(bus.root, 'pusher-'));
  git(clone, 'clone', '--quiet', '--no-checkout', bus.hub, '.');
  git(clone, 'read-tree', 'HEAD');
  const oids = new Map<string, string>();
  const write = (content: string): string => {
    const args = ['-C', clone, 'hash-object', '-w', '--stdin'];
    const oid = execFileSync('git', args, { input: content, encoding: 'utf8' }).trim();
    oids.set(content, oid);
    return oid;
  };
  const lines = entries.map(
    ([mode, content, path]) =>
      `${mode} ${mode === '0' ? '0'.repeat(40) : (oids.get(content) ?? write(content))}\t${path}\n`,
  );
  execFileSync('git', ['-C', clone, 'update-index', '--index-info'], { input: lines.join('') });
  git(clone, 'commit', '--quiet', '--message', 'hostile');
  git(clone, 'push', '--quiet');
}
