import { formsOf } from '../protocol/text/concealed.ts';
import type { Hit } from './scan.ts';

/**
 * The values of secrets that this machine keeps, which are recognized whatever they look like. Nothing is
 * looked for where none is known.
 */
export class KnownSecrets {
  readonly #forms = new Map<string, readonly string[]>();
  #changed: () => void = () => undefined;

  /** @param changed called when a value becomes known, so that nothing older is relied on */
  whenChanged(changed: () => void): void {
    this.#changed = changed;
  }

  add(name: string, value: string): void {
    const forms = formsOf(value);
    if (forms.join('\0') === (this.#forms.get(name) ?? []).join('\0')) return;
    this.#forms.set(name, forms);
    this.#changed();
  }

  /** Where each begins; one that stands there several times is told once. */
  in(text: string): Hit[] {
    return [...this.#forms].flatMap(([name, forms]) => {
      const index = forms.map((form) => text.indexOf(form)).find((at) => at >= 0);
      return index === undefined ? [] : [{ kind: `the secret ${name} of this machine`, index }];
    });
  }

  get none(): boolean {
    return this.#forms.size === 0;
  }
}
