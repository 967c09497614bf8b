import { isRelPath } from '../../protocol/names.ts';
import type { UsageSum } from '../../protocol/usage.ts';
import type { RunEnding } from '../bills/ledger.ts';
import { isRecord } from '../files.ts';

/** What a transcript begins with, in each of its files. */
export interface TranscriptHead {
  kind: 'run';
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  host: string;
  /** Its id. */
  channel: string;
  tier: string;
  /** The relPaths of the messages that it answers, at most 100. */
  messages: string[];
  /** When it began, in ISO form. */
  since: string;
}

/** What a run did. Text in it is cleaned (`runner/printed.ts`). */
export type Happened =
  /**
   * What its command printed on stdout (`out`) and stderr (`err`), of which a piece need not end with a
   * line; or, where the CLI tells it in JSON, what the model said, and why something failed.
   */
  | { kind: 'out' | 'err' | 'says' | 'fails'; text: string }
  /** A tool that was called, and with what, in one line. */
  | { kind: 'tool'; text: string }
  /** What it has used so far. */
  | { kind: 'used'; usage: UsageSum }
  /** So much was left out here; undefined if it is not known how much. */
  | { kind: 'gap'; bytes?: number }
  | { kind: 'end'; ended: RunEnding; reason?: string };

/** A line of a transcript. Stored and shown under these names. */
export type TranscriptLine = {
  /** Counted from 1, so that a reader knows whether something is missing. */
  n: number;
  /** When it was taken down, in ISO form. */
  at: string;
} & Happened;

/** The beginning of a file: `before` is the size of all that happened before it, in bytes. */
export type FileHead = TranscriptHead & { before: number };

const TEXT = new Set(['out', 'err', 'says', 'fails', 'tool']);

/** A line of a file; undefined for one that a full disk or a crash has cut off. */
export function transcriptLine(text: string): FileHead | TranscriptLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { kind, n, at } = value;
  if (kind === 'run') return isHead(value) ? (value as unknown as FileHead) : undefined;
  if (typeof n !== 'number' || typeof at !== 'string' || typeof kind !== 'string') return undefined;
  const isWhole =
    (TEXT.has(kind) && typeof value['text'] === 'string') ||
    (kind === 'used' && isRecord(value['usage'])) ||
    kind === 'gap' ||
    (kind === 'end' && typeof value['ended'] === 'string');
  return isWhole ? (value as unknown as TranscriptLine) : undefined;
}

function isHead({ before, messages, ...value }: Record<string, unknown>): boolean {
  const texts = ['id', 'actor', 'host', 'channel', 'tier', 'since'];
  return (
    typeof before === 'number' &&
    texts.every((name) => typeof value[name] === 'string') &&
    Array.isArray(messages) &&
    messages.every((one) => typeof one === 'string' && isRelPath(one))
  );
}
