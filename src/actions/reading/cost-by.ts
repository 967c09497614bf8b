/** Fields by which runs may be grouped. */
export const COST_BY = [
  ...(['actor', 'tier', 'host', 'channel', 'thread'] as const),
  ...(['schedule', 'subscription', 'skill', 'session', 'day'] as const),
] as const;
/** Field by which runs are grouped. */
export type CostBy = (typeof COST_BY)[number];
