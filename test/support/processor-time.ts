/** Milliseconds of a processor that this process has taken: a busy machine takes no more of them. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
