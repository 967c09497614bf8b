/** Kinds of notes (automation.md, "Memory"); a note without a kind is a `note`. */
export const MEMORY_KINDS = ['note', 'decision', 'preference', 'reference', 'archive'] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** The form of the names of memory files, with the suffix in it. */
export const MEMORY_FILE = /^\d{8}T\d{9}Z-([0-9a-fA-F]{8,64})\.md$/;

/** Whether a name is that of a memory file: `YYYYMMDDTHHMMSSmmmZ-<hex>.md`. */
export function isMemoryFile(name: unknown): name is string {
  return typeof name === 'string' && MEMORY_FILE.test(name);
}
