/**
 * The name of a transport's service on a machine, without an ending:
 * `crosstalk-laptop-1f2e3d4c5b6a`.
 *
 * @param alias of the host that it serves, for readability
 * @param transportId ends in a digest of the transport's identity
 */
export function serviceName(alias: string, transportId: string): string {
  return `crosstalk-${alias}-${digestOf(transportId)}`;
}

/** Whether a name is one that {@link serviceName} gives for this transport and some alias. */
export function namesService(name: string, transportId: string): boolean {
  return name.startsWith('crosstalk-') && name.endsWith(`-${digestOf(transportId)}`);
}

function digestOf(transportId: string): string {
  return transportId.split('-').at(-1) ?? transportId;
}
