/** The clock and the random numbers that something goes by: a test or a simulation gives its own. */
export interface Clock {
  now: () => Date;
  /** From 0 to 1. */
  random: () => number;
  /** A ULID. */
  newId: () => string;
  /** The id of a channel. */
  uuid: () => string;
  /** Of the name of a message, in hex digits. */
  suffix: () => string;
  /** So many bytes that nobody can guess, in hex digits. */
  secret: (bytes: number) => string;
}
