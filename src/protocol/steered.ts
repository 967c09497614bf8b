import { isRelPath } from './names.ts';

/** A message that went into a run under way, as the run's answer has it on record. */
export interface Steered {
  /** Its relPath. */
  message: string;
  /** Whether the run went on with it, or was ended and begun again. */
  how: 'into' | 'again';
  /** The id of the run. */
  run: string;
}

/** The most messages that go into one run: each may make it begin again. */
export const MAX_STEERED = 20;

const RUN = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** What went into a run, from a header, which anybody may have pushed; undefined for what cannot be read. */
export function steeredIn(value: unknown): Steered[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_STEERED) return undefined;
  const found = value.flatMap((one: unknown): Steered[] => {
    const { message, how, run } = (one ?? {}) as Record<string, unknown>;
    if (!isRelPath(message) || (how !== 'into' && how !== 'again')) return [];
    return typeof run === 'string' && RUN.test(run) ? [{ message, how, run }] : [];
  });
  return found.length === value.length ? found : undefined;
}
