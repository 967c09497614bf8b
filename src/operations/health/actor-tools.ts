import type { WebTool } from '../../api/now.ts';
import type { HeldChange } from '../../protocol/approval/approval.ts';
import { secretsIn, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { act, type Finding } from '../../present/finding.ts';

/**
 * The MCP servers of an actor as this machine knows them: those in force, and those that wait for approval.
 *
 * @param approved those in force
 * @param held every change that waits
 * @param missing the names among these of which this machine keeps no secret
 */
export async function toolsOf(
  actor: string,
  approved: readonly McpServer[],
  held: readonly HeldChange[],
  missing: (names: readonly string[]) => Promise<string[]>,
): Promise<WebTool[]> {
  const changes = held.flatMap((change) =>
    change.kind === 'mcps' && change.actor === actor ? change.changes : [],
  );
  const waiting = changes.filter(({ proposed }) => proposed !== undefined);
  const tools: WebTool[] = [];
  for (const server of approved)
    tools.push({
      name: server.name,
      state: 'approved',
      missing: await missing(secretsIn([server])),
    });
  for (const { option } of waiting)
    tools.push({ name: option.slice('mcps.'.length), state: 'held', missing: [] });
  return tools;
}

/** Tools that no run of an actor can be given. */
export function toolProblems(
  actors: readonly { name: string; tools?: readonly WebTool[] }[],
): Finding[] {
  return actors.flatMap(({ name, tools = [] }) => {
    const missing = [...new Set(tools.flatMap((tool) => tool.missing))];
    if (missing.length === 0) return [];
    const [command = '', ...more] = missing.map((secret) => `crosstalk secret set ${secret}`);
    const give = [command, ...more].join('; ');
    return [
      act(
        `the tools of ${name} need ${missing.join(', ')}, which this machine does not keep, or cannot read, so its mail is parked; give it with: ${give}`,
        command,
      ),
    ];
  });
}
