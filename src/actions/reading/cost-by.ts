/** By what runs may be put together. */
export const COST_BY = [
  ...(['actor', 'tier', 'host', 'channel', 'thread'] as const),
  ...(['schedule', 'subscription', 'skill', 'session', 'day'] as const),
] as const;
/** By what runs are put together. */
export type CostBy = (typeof COST_BY)[number];
