/** A message that was written and not sent. */
export interface Draft {
  to: string;
  tier: string;
  body: string;
  /** The answers that it offers, as typed: some may be empty. */
  options: string[];
  /** The JSON Schema that an answer has to fit, as typed. */
  schema: string;
}

export const EMPTY: Draft = { to: '', tier: '', body: '', options: [], schema: '' };

/** Store of drafts: the browser's `localStorage`, or anything similar. */
export interface Shelf {
  getItem: (key: string) => string | null;
  setItem: (key: string, value: string) => void;
  removeItem: (key: string) => void;
}

/**
 * Store of this tab. What another tab writes does not change it; the browser has a copy of what was written last, so
 * that a tab that has nothing of its own continues where a closed one was left.
 */
export const TAB: Shelf = {
  getItem: (key) => sessionStorage.getItem(key) ?? localStorage.getItem(key),
  setItem: (key, value) => {
    sessionStorage.setItem(key, value);
    localStorage.setItem(key, value);
  },
  removeItem: (key) => {
    // Another tab may have written something else meanwhile.
    if (localStorage.getItem(key) === TAB.getItem(key)) localStorage.removeItem(key);
    sessionStorage.setItem(key, '');
  },
};

const keyOf = (channel: string): string => `crosstalk-draft-${channel}`;

/** Returns the draft of a channel; an empty one when there is none or it cannot be read. */
export function loadDraft(shelf: Shelf, channel: string): Draft {
  try {
    const kept: unknown = JSON.parse(shelf.getItem(keyOf(channel)) ?? 'null');
    if (typeof kept !== 'object' || kept === null) return EMPTY;
    const fields = kept as Partial<Record<string, unknown>>;
    const field = (name: keyof Draft): string => {
      const value = fields[name];
      return typeof value === 'string' ? value : '';
    };
    const offered: unknown[] = Array.isArray(fields['options']) ? fields['options'] : [];
    const options = offered.filter((option) => typeof option === 'string');
    const [to, tier, body, schema] = [field('to'), field('tier'), field('body'), field('schema')];
    return { to, tier, body, options, schema };
  } catch {
    return EMPTY;
  }
}

/** Stores a draft, or removes an empty one; false if nothing can be stored. */
export function keepDraft(shelf: Shelf, channel: string, draft: Draft): boolean {
  try {
    const { to, body, options, schema } = draft;
    if ([to, body, schema, ...options].every((text) => text === ''))
      shelf.removeItem(keyOf(channel));
    else shelf.setItem(keyOf(channel), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}
