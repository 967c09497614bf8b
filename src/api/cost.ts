/** Totals of a group of runs; `usd` is null if no CLI stated any. */
export interface WebCostRow {
  /**
   * The group: an actor, tier, alias of a host, channel, first message of a thread, schedule, subscription,
   * skill, kind of session, or day (UTC).
   */
  what: string;
  /** Id of the thread's channel, for a group by thread. */
  channel?: string;
  runs: number;
  /** Number of these runs that failed, were refused or stopped, or were interrupted. */
  failed: number;
  /** Tokens, without those of the cache. */
  input: number;
  cached: number;
  output: number;
  usd: number | null;
  /** Milliseconds. */
  ms: number;
}

/** Costs of runs, grouped. */
export interface WebCost {
  by: string;
  since: string;
  /** The most expensive first; days in order. */
  rows: WebCostRow[];
  total: WebCostRow;
  /** Runs whose CLI stated no usage. */
  unstated: number;
  /** Other hosts: only their runs whose answer states its usage are included. */
  partly_known: string[];
}
