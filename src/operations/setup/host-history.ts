import type { HeldChange } from '../../protocol/approval/approval.ts';
import { canonical, wholeOf } from '../../protocol/approval/record.ts';
import { parseHostFile, type HostFile } from '../../protocol/files/host-file.ts';
import type { Context } from '../context.ts';

/** A version of a host file, and the commit that made it, by its own words. */
interface HostVersion {
  commit: string;
  by: string;
  /** ISO 8601. */
  at: string;
  text: string;
  /** Undefined where it cannot be read. */
  file: HostFile | undefined;
}

/** The most versions that are looked at: whoever can push can make any number. */
const MOST = 200;

/** The versions of a host file in the history of a commit, newest first. */
export async function* versionsOf(
  { transport }: Context,
  tip: string,
  path: string,
): AsyncGenerator<HostVersion> {
  const args = ['log', `--max-count=${String(MOST)}`, '--format=%H %cI %an', tip, '--', path];
  for (const line of (await transport.git(args)).split('\n')) {
    const [commit = '', at = '', ...by] = line.split(' ');
    if (commit === '') continue;
    const text = (await transport.objects.text(commit, path)) ?? '';
    const read = parseHostFile(text);
    yield { commit, at, by: by.join(' '), text, file: read.ok ? read.value : undefined };
  }
}

/** Some held changes, each with the commit that brought what it proposes, where the history of the host file has it. */
export async function withOrigins(
  context: Context,
  { path, file, tip }: { path: string; file: HostFile; tip: string },
  held: readonly HeldChange[],
): Promise<HeldChange[]> {
  const pushed = new Map<HeldChange, HeldChange['pushed']>();
  let open = held.filter(isOfFile);
  if (open.length === 0) return [...held];
  for await (const { commit, by, at, file: older } of versionsOf(context, tip, path)) {
    open = open.filter((change) => {
      const isThere = older !== undefined && partOf(older, change) === partOf(file, change);
      if (isThere) pushed.set(change, { by, at, commit });
      return isThere;
    });
    if (open.length === 0) break;
  }
  return held.map((change) => {
    const origin = pushed.get(change);
    return origin === undefined ? change : { ...change, pushed: origin };
  });
}

/** Whether a change stands in the host file: a setting is in the clone, and MCP servers are in a profile. */
export function isOfFile({ kind }: HeldChange): boolean {
  return kind === 'tier' || kind === 'default';
}

/** What a change is about, as a host file has it. */
function partOf({ actors }: HostFile, { kind, actor = '', tier }: HeldChange): string {
  const tiers = actors.get(actor) ?? [];
  if (kind === 'default') return canonical(tiers[0]?.name);
  const found = tiers.find(({ name }) => name === tier);
  return canonical(found && wholeOf(found));
}
