const KEY = 'crosstalk-theme';
const TURNS = ['system', 'light', 'dark'] as const;
export type Theme = (typeof TURNS)[number];

/** Returns the theme that was chosen in this browser. */
export function chosenTheme(): Theme {
  try {
    return TURNS.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system';
  }
}

/** Shows the page in the chosen theme. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = chosenTheme();
}

/** Switches to the next theme, and returns it. */
export function turnTheme(): Theme {
  const next = TURNS[(TURNS.indexOf(chosenTheme()) + 1) % TURNS.length] ?? 'system';
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // This window cannot store it; the theme lasts until the page is closed.
  }
  document.documentElement.dataset['theme'] = next;
  dispatchEvent(new Event('crosstalk-theme'));
  return next;
}
