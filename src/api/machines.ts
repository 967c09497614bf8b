import type { MessageRef } from '../protocol/message-ref.ts';
import type { Time } from './time.ts';

/** Another machine, as the bell tells of it; anybody who reaches the bell may say it in its place. */
export interface WebMachine {
  alias: string;
  /** Whether it was heard as lately as a machine at work is. */
  live: boolean;
  /** Seconds since it was heard; null when it never was. */
  heard_s: number | null;
  version: string | null;
  /** The actors at work there, one for each run. */
  running: string[];
  /** How many tiers there hold their mail back. */
  held: number;
}

/** Mail of a host, by the first message of it. */
interface WebSaidMail extends MessageRef {
  actor: string;
  /** Its id where it has no name here. */
  channel_name: string;
  since: Time;
}

/** How much of something a host says it has. */
export interface WebSaidCount {
  count: number;
  /** The first of it, at most 8. */
  messages: WebSaidMail[];
}

/**
 * How a host says that it was when it last told on the bus; anybody who can push may have said it in its place.
 */
export interface WebHostSaid {
  /** By its own clock. */
  at: Time;
  running: WebSaidCount;
  waiting: WebSaidCount;
  failed: WebSaidCount;
}

/** A host of the transport, by its own word. */
export interface WebHostWord {
  alias: string;
  this_machine: boolean;
  /** Seconds since its last word, of any kind; null when none of the recent ones is its. */
  heard_s: number | null;
  /** Seconds since it said how it is; null when it has not. */
  said_s: number | null;
  said: WebHostSaid | null;
}
