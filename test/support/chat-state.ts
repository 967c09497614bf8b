import { begin, type ChatEvent, type ChatState, type Effect } from '../../src/chat/model.ts';
import type { Entry } from '../../src/chat/port.ts';
import { update } from '../../src/chat/update.ts';
import { view } from '../../src/chat/view.ts';

const NOW = Date.UTC(2026, 5, 9, 12, 0, 0);
export const GENERAL = 'general-id';
export const RELEASE = 'release-id';

/** The n-th message of an invented channel, a second after the previous one. */
export function entry(n: number, from: string, to: string, more: Partial<Entry> = {}): Entry {
  return {
    channel: GENERAL,
    relPath: relPath(n),
    from,
    to: [to],
    at: NOW - 1000 * (100 - n),
    re: [],
    cause: [],
    body: `message ${String(n)}\n`,
    ...more,
  };
}

export function relPath(n: number): string {
  return `2026/06/09/${String(n).padStart(9, '0')}Z-${n.toString(16).padStart(8, '0')}.md`;
}

/** A chat without a terminal or a bus: tests send events, and its effects are collected. */
export class Model {
  state: ChatState;
  effects: Effect[] = [];

  constructor(size = { columns: 80, rows: 24 }, drafts: Record<string, string> = {}) {
    const channels = [
      { id: GENERAL, name: 'general', depth: 0 },
      { id: RELEASE, name: 'release', depth: 1 },
    ];
    const opening = { me: 'anna', channels, current: GENERAL, to: 'concierge', history: [] };
    const first = begin({ ...opening, drafts }, size, NOW);
    this.state = first.state;
    this.effects.push(...first.effects);
    const names = ['concierge', 'concierge@laptop', 'tester', 'all'];
    this.on({
      type: 'addresses',
      addresses: names.map((value) => ({ value, description: '' })),
    });
    this.on({ type: 'skills', skills: [] });
  }

  on(event: ChatEvent): this {
    const { state, effects } = update(this.state, event);
    this.state = state;
    this.effects.push(...effects);
    return this;
  }

  /** Loads the newest messages of the channel, as at the start. */
  loaded(...entries: Entry[]): this {
    return this.on({ type: 'page', channel: GENERAL, entries, more: false });
  }

  press(...names: string[]): this {
    for (const name of names) this.on({ type: 'key', key: { name, text: '' } });
    return this;
  }

  type(text: string): this {
    for (const letter of text) this.on({ type: 'key', key: { name: 'text', text: letter } });
    return this;
  }

  /** Removes and returns the effects of a kind so far. */
  did<K extends Effect['do']>(kind: K): Extract<Effect, { do: K }>[] {
    const found = this.effects.filter((effect) => effect.do === kind);
    this.effects = this.effects.filter((effect) => effect.do !== kind);
    return found as Extract<Effect, { do: K }>[];
  }

  /** The screen as text, without padding. */
  get screen(): string[] {
    return view(this.state)
      .lines.map((line) =>
        line
          .map(({ text }) => text)
          .join('')
          .trimEnd(),
      )
      .filter((line) => line !== '');
  }
}
