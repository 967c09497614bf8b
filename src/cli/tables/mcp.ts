import { CLIENT_NAMES } from '../command/mcp-clients.ts';
import { FROM, type CommandSpec } from '../command/spec.ts';

/** The row of the command table that connects MCP clients. */
export const MCP_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'mcp',
    summary:
      'serve the bus to an MCP client on stdin and stdout, or enter it in a client’s settings',
    details: [
      'Without --install it speaks MCP until its stdin is closed; clients start it so.',
      'With --install and --uninstall it shows what it would change in the client’s settings and asks.',
    ].join('\n'),
    options: [
      FROM,
      ['--install <client>', `enter it in the settings of: ${CLIENT_NAMES.join(', ')}`],
      ['--uninstall <client>', 'take it out of them again'],
      ['--project', 'in the settings of this folder (default, but for codex)'],
      ['--user', 'in your own settings, for every folder'],
      ['--dry-run', 'only show the change'],
      ['--yes', 'make the change without asking'],
    ],
    interrupt: 'clean',
    example: 'crosstalk mcp --install claude',
    load: () => import('../commands/mcp.ts'),
  },
  {
    name: '__permission',
    summary: 'what the agent CLI of a run asks for permission, as an MCP server on its pipes',
    standalone: true,
    hidden: true,
    inRun: true,
    example: 'crosstalk __permission',
    load: () => import('../commands/work/permission.ts'),
  },
];
