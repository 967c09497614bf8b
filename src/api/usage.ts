/** What the run of an answer used, where its agent CLI states that: tokens without those of the cache, US dollars, milliseconds. */
export interface WebUsage {
  model?: string;
  input: number;
  cached: number;
  output: number;
  usd?: number;
  turns?: number;
  ms: number;
}
