import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

/** Parts of packages that the server uses, in a separate bundle that only `crosstalk mcp` loads. */
export const sdk = {
  CallToolRequestSchema,
  McpServer,
  ResourceTemplate,
  StdioServerTransport,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  completable,
  z,
};

export type { GetPromptResult } from '@modelcontextprotocol/sdk/types.js';
export type { z } from 'zod';
