import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';

/** The program of an MCP server that says what it finds in the variables that its arguments name. */
const VAULT = fileURLToPath(new URL('../fixtures/tools/vault.js', import.meta.url));

/** A server for a profile: the vault, with variables. */
export function vault(env: Record<string, string>, name = 'vault'): Record<string, unknown> {
  return { name, command: process.execPath, args: [VAULT, ...Object.keys(env)], env };
}

/** The text of a profile with MCP servers. */
export function profileWith(
  name: string,
  mcps: unknown[],
  more: Record<string, unknown> = {},
): string {
  return `---\n${stringify({ name, ...more, mcps }, { lineWidth: 0 })}---\n\nYou are ${name}.\n`;
}
