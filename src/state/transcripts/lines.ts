import { isRelPath } from '../../protocol/names.ts';
import type { UsageSum } from '../../protocol/usage.ts';
import type { RunEnding } from '../bills/ledger.ts';
import { isRecord } from '../files.ts';

/** The first line of a transcript, in each of its files. */
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
  /** Start of the run, ISO 8601 UTC. */
  since: string;
}

/** An event of a run. Text in it is cleaned (`runner/printed.ts`). */
export type Happened =
  /**
   * Output of its command on stdout (`out`) and stderr (`err`), in pieces that need not end with a line;
   * or, when the CLI prints JSON, text of the model, and the reason of a failure.
   */
  | { kind: 'out' | 'err' | 'says' | 'fails'; text: string }
  /** A tool call with its arguments, in one line. */
  | { kind: 'tool'; text: string }
  /** The usage so far. */
  | { kind: 'used'; usage: UsageSum }
  /** The bytes left out here; undefined if their number is not known. */
  | { kind: 'gap'; bytes?: number }
  | { kind: 'end'; ended: RunEnding; reason?: string };

/** A line of a transcript. Stored and shown under these names. */
export type TranscriptLine = {
  /** The number of the line, from 1, so that a reader knows whether something is missing. */
  n: number;
  /** Time of the record, ISO 8601 UTC. */
  at: string;
} & Happened;

/** The first line of a file: `before` is the size of all earlier events, in bytes. */
export type FileHead = TranscriptHead & { before: number };

const TEXT = new Set(['out', 'err', 'says', 'fails', 'tool']);

/** Parses a line of a file; undefined for one that a full disk or a crash has cut off. */
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
