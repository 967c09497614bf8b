import type { Marked } from '../../protocol/decision/permission.ts';

/** The run that asks, as its dispatcher knows it. */
export interface AskingRun {
  id: string;
  actor: string;
  host: string;
  channel: string;
  /** The messages that it was given. */
  messages: readonly string[];
  /** Those of them, or behind them, that its questions name. */
  re: readonly string[];
  /** Who decides. */
  approver: string;
  /** Milliseconds for which a question waits. */
  timeout: number;
  /** How dangerous a tool call seems. */
  markOf: (tool: string, input: Readonly<Record<string, unknown>>) => Marked;
  /** Tells who watches the run, in one line. */
  tell: (text: string) => void;
}
