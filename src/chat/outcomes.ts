import type { ChatEvent } from './model.ts';

/** Shows lines in a panel. */
export function panel(title: string, lines: string[]): ChatEvent {
  return { type: 'panel', title, lines };
}

/** Says that something was done. */
export function told(text: string): ChatEvent {
  return { type: 'notice', text, bad: false };
}

/** Why something was not done. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
