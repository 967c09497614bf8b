import { MessageReader } from '../../src/bus/message-reader.ts';
import { Deliveries } from '../../src/dispatcher/intake/deliveries.ts';
import { Dispatcher } from '../../src/dispatcher/dispatcher.ts';
import { Guards } from '../../src/dispatcher/run/guards.ts';
import { HostFileInForce } from '../../src/dispatcher/host-file-in-force.ts';
import { Known } from '../../src/dispatcher/intake/known.ts';
import { MissingParents } from '../../src/dispatcher/intake/missing-parents.ts';
import { Publisher } from '../../src/bus/publisher.ts';
import { Refusals } from '../../src/dispatcher/run/refusals.ts';
import { RunEndpoint } from '../../src/dispatcher/run/endpoint.ts';
import { Cursors } from '../../src/state/cursors.ts';
import { DeadLetters } from '../../src/state/dead-letters.ts';
import { Holds } from '../../src/state/holds.ts';
import { Interruptions } from '../../src/state/interruptions.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { RemoteBudget } from '../../src/state/remote-budget.ts';
import { RunBudget } from '../../src/state/run-budget.ts';
import { Runs } from '../../src/state/runs.ts';
import { Settled } from '../../src/state/settled.ts';
import { Turns } from '../../src/state/turn.ts';
import { Workspaces } from '../../src/state/workspaces.ts';
import { Objects } from '../../src/transport/objects/objects.ts';
import { Transport } from '../../src/transport/transport.ts';

/** All parts of a dispatcher for which it waits. */
const CLASSES = {
  MessageReader,
  Cursors,
  DeadLetters,
  Deliveries,
  Dispatcher,
  Guards,
  Holds,
  HostFileInForce,
  Interruptions,
  Known,
  MissingParents,
  Objects,
  Outbox,
  Publisher,
  Refusals,
  RemoteBudget,
  RunBudget,
  RunEndpoint,
  Runs,
  Settled,
  Transport,
  Turns,
  Workspaces,
};

/**
 * One awaited call, the n-th of a method: it is either not carried out, or it is carried out and
 * then fails.
 */
export interface AwaitFault {
  method: string;
  n: number;
  when: 'before' | 'after';
}

export const SAID = 'the disk says no';

type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Wraps every method of a dispatcher's parts, counts the awaited calls, and lets one of them fail.
 * Everything below is real.
 */
export class FaultyParts {
  /** How often each method was called while this was listening. */
  readonly counts = new Map<string, number>();
  readonly #originals: (() => void)[] = [];
  #fault: AwaitFault | undefined;
  #listening = false;
  hit = false;
  /** Receives what a run reported once it is on disk. */
  onRecorded: (messages: readonly string[]) => void = () => undefined;

  install(): void {
    const wrapped = new Set<object>();
    for (const [name, { prototype }] of Object.entries(CLASSES)) {
      for (let proto: object = prototype; proto !== Object.prototype; proto = parentOf(proto)) {
        if (!wrapped.has(proto)) this.#wrapAll(name, proto, proto !== prototype);
        wrapped.add(proto);
      }
    }
  }

  /** Reverts {@link install}. */
  uninstall(): void {
    for (const undo of this.#originals.splice(0)) undo();
  }

  listen(fault?: AwaitFault): void {
    this.counts.clear();
    this.#fault = fault;
    this.hit = false;
    this.#listening = true;
  }
  silence(): void {
    this.#listening = false;
  }

  /** @param isShared whether classes inherit its methods, which are then called by the name of each */
  #wrapAll(name: string, proto: object, isShared: boolean): void {
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(proto))) {
      if (key === 'constructor' || typeof property.value !== 'function') continue;
      const original = property.value as Method;
      const value = this.#wrapped(name, key, original, isShared);
      Object.defineProperty(proto, key, { ...property, value });
      this.#originals.push(() => Object.defineProperty(proto, key, property));
    }
  }

  #wrapped(name: string, key: string, original: Method, isShared: boolean): Method {
    const call = (self: unknown, args: unknown[]): unknown => {
      const owner = isShared ? (self as object).constructor.name : name;
      return this.#call(`${owner}.${key}`, original, self, args);
    };
    return function (...args) {
      return call(this, args);
    };
  }

  #call(method: string, original: Method, self: unknown, args: unknown[]): unknown {
    if (!this.#listening) return original.apply(self, args);
    const n = (this.counts.get(method) ?? 0) + 1;
    const isIt = this.#fault?.method === method && this.#fault.n === n;
    const when = isIt ? this.#fault?.when : undefined;
    if (when === 'before') {
      this.counts.set(method, n);
      this.hit = true;
      const failing = Promise.reject(new Error(SAID));
      return isGenerator(original) ? failingGenerator(failing) : failing;
    }
    const given = original.apply(self, args);
    if (isGenerator(original)) {
      this.counts.set(method, n);
      if (when === undefined) return given;
      this.hit = true;
      return thenFails(given as AsyncIterable<unknown>);
    }
    if (!(given instanceof Promise)) return given;
    this.counts.set(method, n);
    const done =
      method === 'Outbox.put' ? given.then((value) => this.#recorded(value, args)) : given;
    if (when === undefined) return done;
    this.hit = true;
    return done.then(() => {
      throw new Error(SAID);
    });
  }

  #recorded(value: unknown, args: unknown[]): unknown {
    const [entry] = args as [{ delivery?: { messages: string[] } }];
    if (entry.delivery !== undefined) this.onRecorded(entry.delivery.messages);
    return value;
  }
}

function parentOf(proto: object): object {
  return Object.getPrototypeOf(proto) as object;
}

function isGenerator(method: Method): boolean {
  return /^(async\*|AsyncGeneratorFunction)/.test(method.constructor.name);
}

async function* failingGenerator(failing: Promise<never>): AsyncGenerator {
  yield await failing;
}

async function* thenFails(all: AsyncIterable<unknown>): AsyncGenerator {
  yield* all;
  throw new Error(SAID);
}
