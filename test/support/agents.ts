import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../fixtures/agents', import.meta.url));

/** The command line of a scripted agent CLI: a real process in which only the model is fake. */
export function agent(name: string, ...args: string[]): string {
  return `${folder}/${name} ${args.join(' ')}`.trim();
}
