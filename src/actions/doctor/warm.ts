import { ADAPTERS, warmOf, type Adapter } from '../../agents/sessions/warm-of.ts';
import { runBounded } from '../../runner/bounded-program.ts';
import { knownHost } from '../setup/approvals.ts';
import { programOf } from '../setup/agents.ts';
import type { Context } from '../context.ts';
import type { Check } from './check.ts';
import { findBackend } from '../../runner/sandbox/bubblewrap.ts';

const NODE_MS = 10_000;
const CHECK = 'kept sessions';

/** Checks whether this machine can run the tools that its tiers need. */
export async function runnerChecks(context: Context): Promise<Check[]> {
  return [...(await sandboxCheck(context)), ...(await warmChecks(context))];
}

/**
 * Checks whether the processes of tiers with `session: warm` can be pooled: without its adapter, each run is a
 * process of its own.
 */
async function warmChecks(context: Context): Promise<Check[]> {
  const { host } = await knownHost(context, undefined).catch(() => ({ host: undefined }));
  const tiers = [...(host?.inForce.values() ?? [])].flat();
  const commands = new Set(tiers.filter(({ session }) => session === 'warm').map(({ cli }) => cli));
  const checks: Check[] = [];
  const seen = new Set<string>();
  for (const command of commands) {
    const found = warmOf(command);
    if (!found.ok) {
      const fix = 'crosstalk host show';
      checks.push({
        check: CHECK,
        ok: false,
        warning: true,
        found: `each run is new: ${found.why}`,
        fix,
      });
      continue;
    }
    const { agent } = found.way;
    if (seen.has(agent)) continue;
    seen.add(agent);
    const adapter = ADAPTERS[agent];
    checks.push(
      adapter === undefined
        ? { check: CHECK, ok: true, found: `${agent} keeps its process itself`, fix: '' }
        : await adapterCheck(context, agent, adapter),
    );
  }
  return checks;
}

async function adapterCheck(
  { env }: Context,
  agent: string,
  { name, package: of, node }: Adapter,
): Promise<Check> {
  const path = await programOf(name, env['PATH'] ?? '');
  if (path === undefined)
    return {
      check: CHECK,
      ok: false,
      warning: true,
      found: `${name}, by which ${agent} is kept, is not on the PATH; each of its runs is new`,
      fix: `npm install --global ${of}`,
    };
  const version = node === undefined ? undefined : await nodeOn(env);
  if (node !== undefined && version !== undefined && version < node)
    return {
      check: CHECK,
      ok: false,
      warning: true,
      found: `${name} needs Node.js ${String(node)}, and the node on the PATH is ${String(version)}; each run of ${agent} is new`,
      fix: `put a node of version ${String(node)} or later before it on the PATH`,
    };
  return { check: CHECK, ok: true, found: `${agent} is kept by ${path}`, fix: '' };
}

/** Returns the major version of the `node` on the PATH, with which adapters start. */
async function nodeOn(env: NodeJS.ProcessEnv): Promise<number | undefined> {
  const signal = new AbortController().signal;
  const bounds = { out: 100, err: 100, timeout: NODE_MS, signal };
  const { out } = await runBounded(['node', '--version'], { cwd: '/', env }, bounds);
  const major = /^v(\d+)\./.exec(out.toString('utf8'))?.[1];
  return major === undefined ? undefined : Number(major);
}

/** Tries the sandbox, if a tier of this machine has one: without it, the mail of that tier waits. */
async function sandboxCheck(context: Context): Promise<Check[]> {
  const { host } = await knownHost(context, undefined).catch(() => ({ host: undefined }));
  const tiers = [...(host?.inForce.values() ?? [])].flat();
  if (!tiers.some(({ sandbox }) => sandbox !== undefined)) return [];
  const backend = await findBackend(context.env);
  return [
    backend.ok
      ? { check: 'sandbox', ok: true, found: `${backend.program} works`, fix: '' }
      : { check: 'sandbox', ok: false, found: backend.problem, fix: backend.fix },
  ];
}
