import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What happens to a call of git. */
export const KINDS = [
  /** It ends with 128 and prints nothing. */
  'silent',
  /** It prints something and ends with 128, as git does when it cannot continue. */
  'said',
  /** It is killed before it has done anything. */
  'killed',
  /** It does its work, and is killed before it could report that. */
  'mute',
  /** It does its work, prints half of its output, and is killed. */
  'cut',
  /** It never ends on its own. */
  'hung',
] as const;
export type Kind = (typeof KINDS)[number];

/** The calls that fail: the n-th alone, all from the n-th on, or all of one git command. */
export type Which = `=${number}` | `+${number}` | `@${string}`;

/**
 * A program named git, in a folder that comes first on a PATH. It numbers the calls, records each,
 * and lets one of them fail; in all others it is the real git.
 */
export class GitShim {
  readonly #dir: string;
  readonly #calls: string;
  readonly #fault: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(root: string) {
    this.#dir = join(root, 'shim');
    this.#calls = join(root, 'shim-calls');
    this.#fault = join(root, 'shim-fault');
    mkdirSync(this.#dir, { recursive: true });
    const real = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
    const helper = join(root, 'shim-helper.mjs');
    writeFileSync(helper, HELPER);
    const program = join(this.#dir, 'git');
    writeFileSync(program, programText(real, this.#calls, this.#fault, helper));
    chmodSync(program, 0o755);
    this.env = {
      PATH: `${this.#dir}${delimiter}${process.env['PATH'] ?? ''}`,
    };
    this.clear();
  }

  /** Counts from one again; nothing fails unless a fault is given. */
  clear(fault?: { which: Which; kind: Kind }): void {
    rmSync(this.#calls, { recursive: true, force: true });
    mkdirSync(this.#calls);
    this.heal();
    if (fault !== undefined) this.harm(fault);
  }

  harm({ which, kind }: { which: Which; kind: Kind }): void {
    writeFileSync(this.#fault, `${which} ${kind}\n`);
  }
  heal(): void {
    rmSync(this.#fault, { force: true });
  }

  /** The calls in the order of their numbers, without git's own options. */
  get calls(): string[] {
    const numbers = readdirSync(this.#calls).map(Number);
    return numbers
      .sort((a, b) => a - b)
      .map((number) => readFileSync(join(this.#calls, String(number)), 'utf8').trim());
  }
}

/** One shell handles all calls except the failing one, because counting must not be slow. */
function programText(real: string, calls: string, fault: string, helper: string): string {
  return `#!/bin/sh
n=1
{ set -C; until true > "${calls}/$n"; do n=$((n+1)); done; set +C; } 2>/dev/null
skip= sub=
for arg; do
  if [ -n "$skip" ]; then skip=; continue; fi
  case $arg in
    -c|-C) skip=1 ;;
    -*) ;;
    *) sub=$arg; break ;;
  esac
done
seen=
for arg; do
  [ "$arg" = "$sub" ] && seen=1
  [ -n "$seen" ] && printf '%s ' "$arg" >> "${calls}/$n"
done
which= kind=
[ -f "${fault}" ] && read -r which kind < "${fault}"
hit=
case $which in
  =*) [ "$n" -eq "\${which#=}" ] && hit=1 ;;
  +*) [ "$n" -ge "\${which#+}" ] && hit=1 ;;
  @*) [ "$sub" = "\${which#@}" ] && hit=1 ;;
esac
[ -z "$hit" ] && exec "${real}" "$@"
case $kind in
  silent) exit 128 ;;
  said) echo "fatal: Out of memory, malloc failed (tried to allocate 1048576 bytes)" >&2; exit 128 ;;
  killed) kill -9 $$ ;;
  hung) exec sleep 600 ;;
  *) exec "${process.execPath}" "${helper}" "$kind" "${real}" "$@" ;;
esac
`;
}

/** Lets the real git work, and is killed without having printed its output, or with half of it. */
const HELPER = `
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
const [kind, real, ...args] = process.argv.slice(2);
const child = spawn(real, args, { stdio: ['inherit', 'pipe', 'inherit'] });
const stays = args.includes('--batch');
let said = Buffer.alloc(0);
const end = () => {
  if (kind === 'cut') writeSync(1, said.subarray(0, said.length / 2));
  child.kill('SIGKILL');
  process.kill(process.pid, 'SIGKILL');
};
child.stdout.on('data', (chunk) => {
  said = Buffer.concat([said, chunk]);
  if (stays) end();
});
child.on('close', (code) => {
  if (stays && said.length === 0) process.exit(code ?? 1);
  end();
});
`;
