import { reasonOf } from './errors.ts';

type Listener = (...told: unknown[]) => void;

/**
 * Events by their names, each with what its listeners are told; any number may listen to each. They are
 * told at once, in the order in which they began to listen. What one of them throws reaches neither
 * another nor whoever emits.
 */
export class Emitter<Events extends { [Name in keyof Events]: unknown[] }> {
  readonly #listeners = new Map<keyof Events, Listener[]>();
  readonly #failed: (error: unknown) => void;

  /** @param failed told of what a listener throws; a warning of the process unless given */
  constructor(failed: (error: unknown) => void = warn) {
    this.#failed = failed;
  }

  on<Name extends keyof Events>(name: Name, listener: (...told: Events[Name]) => void): void {
    const listeners = this.#listeners.get(name) ?? [];
    this.#listeners.set(name, [...listeners, listener as Listener]);
  }

  emit<Name extends keyof Events>(name: Name, ...told: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        listener(...told);
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}

function warn(error: unknown): void {
  process.emitWarning(`a listener failed: ${reasonOf(error)}`);
}
