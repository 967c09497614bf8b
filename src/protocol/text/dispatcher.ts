/** What is said while nothing can be fetched. @param why what is in the way, `since` when (ISO 8601), and its error */
export function remoteAway(why: string, since: string, error: string): string {
  return `${why} since ${since}, and all mail waits for it, also that of this machine for itself: ${error}`;
}

/** What is said where mail for a host waits because its dispatcher does not run. */
export function noDispatcher(alias: string): string {
  return `no dispatcher is running here, so mail for ${alias} waits; start one with: crosstalk dispatch`;
}
