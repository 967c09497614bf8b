import type { CountedFor } from '../../protocol/automation/counted-for.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Handed } from '../../protocol/usage.ts';
import type { Located } from '../../protocol/message.ts';
import type { BatchFiles } from '../../protocol/prompt/prompt-files.ts';
import type { ServersOfRun } from '../laying/mcp-servers.ts';
import type { Turn } from '../sessions/session-of-run.ts';
import type { RunningCli } from '../../runner/runner.ts';
import type { Tell } from '../steering/run-steering.ts';
import type { Permitting } from './permitting.ts';

/** What a CLI is run with. */
export interface RunInput {
  /** Makes the prompt, which names the files of the batch and what lies in the run's directory. */
  input: (files: BatchFiles | undefined, runDir: string) => Promise<string>;
  batch: Located[];
  /** Bytes. */
  maxOutput: number;
  /** The first message of the thread. */
  thread: MessageRef;
  /** For what else it is counted; its skills are known once the prompt is made. */
  counted: CountedFor;
  /** US dollars that it may use at most. */
  rest: number | undefined;
  /** What it may use at most, by the budgets in force. */
  handed: Handed | undefined;
  /** The MCP servers that it is given. */
  tools: ServersOfRun;
  /** Whom it asks for permission, if its tier says so. */
  permitting?: Permitting;
  /** How its agent is told what comes meanwhile. */
  tell: (cli: RunningCli) => Tell;
  /** Its session, if its tier keeps any. */
  turn?: Turn;
}
