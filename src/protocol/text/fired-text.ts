/** What a message says of the schedule that has sent it; whoever can push can say so as well. */
export interface StartedBy {
  schedule: string;
  /** ISO 8601 in UTC. */
  due: string;
}

/** What a message says of its schedule, in a few words. */
export function firedText({ schedule, due }: StartedBy): string {
  return `fired by schedule ${schedule}, due ${due.slice(0, 16).replace('T', ' ')} UTC`;
}
