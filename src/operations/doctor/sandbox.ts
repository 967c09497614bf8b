import { findBackend } from '../../runner/sandbox/bubblewrap.ts';
import { knownHost } from '../setup/approvals.ts';
import type { Context } from '../context.ts';
import type { Check } from './check.ts';

/** Tries the sandbox, if a tier of this machine has one: without it, the mail of that tier waits. */
export async function sandboxCheck(context: Context): Promise<Check[]> {
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
