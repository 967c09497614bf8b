/** The clients whose settings `crosstalk mcp --install` writes. */
export const CLIENT_NAMES = ['claude', 'codex', 'cursor', 'gemini', 'opencode', 'vscode'] as const;
