/** Clock and random numbers of a program; a test or a simulation provides its own. */
export interface Clock {
  now: () => Date;
  /** A number from 0 to 1. */
  random: () => number;
  /** A new ULID. */
  newId: () => string;
  /** A new id for a channel. */
  uuid: () => string;
  /** A random suffix for the name of a message, in hex digits. */
  suffix: () => string;
  /** An unguessable secret of `bytes` bytes, in hex digits. */
  secret: (bytes: number) => string;
}
