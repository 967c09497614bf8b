// What the server takes from packages, in a bundle apart: only `crosstalk mcp` loads it.
export { completable } from '@modelcontextprotocol/sdk/server/completable.js';
export { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
export { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
export {
  CallToolRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
export { z } from 'zod';
export type { GetPromptResult } from '@modelcontextprotocol/sdk/types.js';
