import { servePermission } from '../../../mcp/permission/serve.ts';
import { askPermission } from '../../../actions/sending/permission.ts';
import { clockOf } from '../../../actions/clock.ts';
import { packageVersion } from '../../../package.ts';
import { note, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import type { CommandSpec } from '../../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: '__permission',
    summary: 'what the agent CLI of a run asks for permission, as an MCP server on its pipes',
    standalone: true,
    hidden: true,
    inRun: true,
    example: 'crosstalk __permission',
    run,
  },
];

/** Runs the server that the agent CLI of a run asks for permission, on this process's pipes. */
async function run(call: Call): Promise<number> {
  const { io } = call;
  const chance = clockOf(io);
  const isWhole = await servePermission(
    { input: process.stdin, output: process.stdout },
    async (question, gone) => {
      const answer = await askPermission(io.agentMode, question, chance, gone);
      if (answer.behavior === 'deny') return answer;
      // The shown input, and not the requested one: a person has seen nothing else.
      const updatedInput = JSON.parse(answer.input) as Record<string, unknown>;
      return { behavior: 'allow', updatedInput };
    },
    packageVersion(),
  );
  if (isWhole) return EXIT.ok;
  note(call, 'the agent CLI sent a line of more than 16 MiB; its question counts as denied');
  return EXIT.failed;
}
