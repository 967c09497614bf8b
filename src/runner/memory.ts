import { readdir, readFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';

/** A process with its parent and its process group. */
interface Listed {
  pid: number;
  parent: number;
  group: number;
  /** Bytes in memory. */
  bytes: () => Promise<number>;
}

/**
 * Returns the memory of processes with all their descendants: the resident bytes of each, shared pages counted for
 * each.
 *
 * @param leaders the leaders of process groups
 */
export async function memoryOf(leaders: readonly number[]): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  if (leaders.length === 0) return found;
  const listed = process.platform === 'linux' ? await listOfProc() : await listOfPs();
  const byPid = new Map(listed.map((one) => [one.pid, one]));
  for (const one of listed) {
    const leader = leaderOf(one, byPid, leaders);
    if (leader !== undefined) found.set(leader, (found.get(leader) ?? 0) + (await one.bytes()));
  }
  return found;
}

/** Most generations of processes that are followed. */
const MOST_STEPS = 50;

function leaderOf(
  one: Listed,
  byPid: ReadonlyMap<number, Listed>,
  leaders: readonly number[],
): number | undefined {
  let at: Listed | undefined = one;
  for (let step = 0; at !== undefined && step < MOST_STEPS; step++) {
    if (leaders.includes(at.group)) return at.group;
    at = byPid.get(at.parent);
  }
  return undefined;
}

async function listOfProc(): Promise<Listed[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return pids.flatMap((name): Listed[] => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [, parent, group] = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      const bytes = async (): Promise<number> => {
        const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '');
        return Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
      };
      return [{ pid: Number(name), parent: parent ?? 0, group: group ?? 0, bytes }];
    } catch {
      // The process has ended.
      return [];
    }
  });
}

async function listOfPs(): Promise<Listed[]> {
  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,pgid=,rss=']);
  return stdout.split('\n').flatMap((line): Listed[] => {
    const [pid, parent, group, kilobytes] = line.trim().split(/\s+/).map(Number);
    return pid === undefined || Number.isNaN(pid)
      ? []
      : [
          {
            ...{ pid, parent: parent ?? 0, group: group ?? 0 },
            bytes: () => Promise.resolve((kilobytes ?? 0) * 1024),
          },
        ];
  });
}
