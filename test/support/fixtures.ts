import { fileURLToPath } from 'node:url';

/** The folder of message files: valid, malformed, hostile. */
export const fixtures = fileURLToPath(new URL('../fixtures/messages', import.meta.url));
