/** What is said where mail for a host waits because its dispatcher does not run. */
export function noDispatcher(alias: string): string {
  return `no dispatcher is running here, so mail for ${alias} waits; start one with: crosstalk dispatch`;
}
