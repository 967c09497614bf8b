import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../fixtures/agents', import.meta.url));

/** The command line of a scripted agent CLI: the fake for the model behind a real process. */
export function agent(name: string, ...args: string[]): string {
  return `${folder}/${name} ${args.join(' ')}`.trim();
}
