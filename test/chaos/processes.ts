import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

interface Process {
  pid: number;
  parent: number;
  name: string;
}

/** The descendants of a process that have a name; Linux only. */
export function below(root: number, name: RegExp): number[] {
  const all = processes();
  const found: number[] = [];
  for (let level = [root]; level.length > 0;) {
    const children = all.filter(({ parent }) => level.includes(parent));
    found.push(...children.filter((child) => name.test(child.name)).map(({ pid }) => pid));
    level = children.map(({ pid }) => pid);
  }
  return found;
}

/** Whether a process works in a folder. */
export function isUsed(folder: string): boolean {
  return processes().some(({ pid }) => {
    try {
      return readlinkSync(`/proc/${String(pid)}/cwd`).startsWith(folder);
    } catch {
      return false;
    }
  });
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
        const [, name = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? [];
        return [{ pid: Number(entry), parent: Number(rest.split(' ')[1]), name }];
      } catch {
        return [];
      }
    });
}
