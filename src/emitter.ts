import { reasonOf } from './errors.ts';

type Listener = (...told: unknown[]) => void;

/**
 * An emitter of events by name, each with the values that its listeners receive; an event may have any number of
 * listeners. They are called synchronously, in the order in which they subscribed. An error that
 * one of them throws reaches neither the other listeners nor the caller of `emit`: with Node's `EventEmitter` the others
 * are not called, and the caller gets it. A listener stays as long as the emitter.
 */
export class Emitter<Events extends { [Name in keyof Events]: unknown[] }> {
  readonly #listeners = new Map<keyof Events, Listener[]>();
  readonly #failed: (error: unknown) => void;

  /** @param failed receives the error that a listener throws; by default it becomes a warning of the process */
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
