/**
 * Parameters that an option of a command and an input of an MCP tool have in common: each text is written once, for
 * people and for agents. A parameter whose default or form differs between the two is described where it is declared.
 */

/** A whole number that an action takes. */
export interface WholeNumber {
  text: string;
  least: number;
  most: number;
}

const WHEN = '2026-06-09, 2h, 3d, today';

/** The model tier of whatever is sent. */
export const TIER = 'the model tier asked for, such as small or large';

export const SEARCH = {
  from: 'only messages of this writer',
  since: `only newer ones: ${WHEN}`,
  limit: { text: 'how many, at most 20 (default: 20)', least: 1, most: 20 },
  /** About as many as anybody looks through. */
  skip: {
    text: 'leave out so many of the best, which were shown before',
    least: 0,
    most: 980,
  },
  context: {
    text: 'with so many messages before and after each hit, at most 8',
    least: 0,
    most: 8,
  },
} as const satisfies Record<string, string | WholeNumber>;

export const COST = { since: `only runs since then: ${WHEN} (default: 30 days)` } as const;

export const CANCEL = {
  reason: 'why, for the record',
  only: 'leave the tasks that its addressees gave to others for it',
} as const;

export const REPLY = {
  option: 'the number of the answer you choose, of those that the message offers',
  again: 'although you have answered this question already',
} as const;

export const INBOX = {
  questions: 'only what asks something that was not answered',
} as const;

export const MEMORY = {
  subject: 'what it is about, in one line',
  name: 'a slug; it replaces the note that has this name in its scope',
  scope: 'a channel, or actor:<name>: its notes and the global ones; or global: those alone',
  all: 'also those that others supersede, and those that are forgotten',
} as const;
