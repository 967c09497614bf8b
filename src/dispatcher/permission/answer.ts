import { isRecord } from '../../state/files.ts';

/** What the dispatcher answers to a run that asks for permission. */
export type PermissionAnswer =
  /** `input`: what was shown to whoever allowed it, as JSON text. */
  { behavior: 'allow'; input: string } | { behavior: 'deny'; message: string };

/** Reads an answer that came over a socket or from a file; undefined for anything else. */
export function permissionAnswerIn(value: unknown): PermissionAnswer | undefined {
  if (!isRecord(value)) return undefined;
  const { behavior, input, message } = value;
  if (behavior === 'allow' && typeof input === 'string') return { behavior, input };
  return behavior === 'deny' && typeof message === 'string' ? { behavior, message } : undefined;
}
