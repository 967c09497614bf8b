/** Some runs together; `usd` is null if no CLI stated any. */
export interface WebCostRow {
  /**
   * The actor, tier, alias of a host, channel, first message of a thread, schedule, subscription, skill, kind of
   * session, or day (UTC).
   */
  what: string;
  /** Of a thread: the id of its channel. */
  channel?: string;
  runs: number;
  /** Of these, the runs that came to nothing. */
  failed: number;
  /** Tokens, without those of the cache. */
  input: number;
  cached: number;
  output: number;
  usd: number | null;
  /** Milliseconds. */
  ms: number;
}

/** What runs have cost. */
export interface WebCost {
  by: string;
  since: string;
  /** The dearest first; days in order. */
  rows: WebCostRow[];
  total: WebCostRow;
  /** Runs whose CLI stated no usage. */
  unstated: number;
  /** Other hosts: only those of their runs are known that gave an answer and told what they used. */
  partly_known: string[];
}
