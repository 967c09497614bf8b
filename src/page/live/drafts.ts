/** A message that was written and not sent. */
export interface Draft {
  to: string;
  tier: string;
  body: string;
}

export const EMPTY: Draft = { to: '', tier: '', body: '' };

/** Where drafts are stored: the browser's `localStorage`, or anything similar. */
export interface Shelf {
  getItem: (key: string) => string | null;
  setItem: (key: string, value: string) => void;
  removeItem: (key: string) => void;
}

const keyOf = (channel: string): string => `crosstalk-draft-${channel}`;

/** The draft of a channel; an empty one when there is none or it cannot be read. */
export function loadDraft(shelf: Shelf, channel: string): Draft {
  try {
    const kept: unknown = JSON.parse(shelf.getItem(keyOf(channel)) ?? 'null');
    if (typeof kept !== 'object' || kept === null) return EMPTY;
    const field = (name: keyof Draft): string => {
      const value: unknown = (kept as Partial<Record<string, unknown>>)[name];
      return typeof value === 'string' ? value : '';
    };
    return { to: field('to'), tier: field('tier'), body: field('body') };
  } catch {
    return EMPTY;
  }
}

/** Stores a draft, or removes an empty one; false if nothing can be stored. */
export function keepDraft(shelf: Shelf, channel: string, draft: Draft): boolean {
  try {
    if (draft.to === '' && draft.body === '') shelf.removeItem(keyOf(channel));
    else shelf.setItem(keyOf(channel), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}
