import { takenApart } from './access.ts';

/** The limits that a remote host sets for requests; absent where it sets none. */
export interface RemoteLimits {
  host: string;
  /**
   * `crosstalk.pushesPerMinute`: how often the remote is pushed to at most, by all of your transports on this machine
   * together; 0 for no limit. 6 for github.com unless set, no limit elsewhere. A dispatcher reads it when it starts.
   */
  pushesPerMinute?: number;
  /** `crosstalk.readsPerSecond`: the same for reads; 15 for github.com unless set. */
  readsPerSecond?: number;
}

/**
 * The limits that forges ask for, per repository. GitHub: at most 6 pushes a minute and 15 reads a second
 * (its documentation on repository limits).
 */
const FORGES: Record<string, Omit<RemoteLimits, 'host'>> = {
  'github.com': { pushesPerMinute: 6, readsPerSecond: 15 },
  'ssh.github.com': { pushesPerMinute: 6, readsPerSecond: 15 },
};

/**
 * Returns the limits of the remote at a URL: those of git's configuration (`crosstalk.pushesPerMinute`,
 * `crosstalk.readsPerSecond`; 0 for none), else those of its forge; undefined for none.
 */
export function remoteLimits(
  origin: string | undefined,
  settings: ReadonlyMap<string, string>,
): RemoteLimits | undefined {
  const host = origin === undefined ? undefined : hostOf(origin);
  const known = host === undefined ? undefined : FORGES[host];
  const pushesPerMinute =
    configured(settings.get('crosstalk.pushesperminute')) ?? known?.pushesPerMinute ?? 0;
  const readsPerSecond =
    configured(settings.get('crosstalk.readspersecond')) ?? known?.readsPerSecond ?? 0;
  if (pushesPerMinute === 0 && readsPerSecond === 0) return undefined;
  return {
    host: host ?? 'local',
    ...(pushesPerMinute > 0 && { pushesPerMinute }),
    ...(readsPerSecond > 0 && { readsPerSecond }),
  };
}

function configured(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Returns the host in a git URL, in lower case; undefined for a path of this machine. */
function hostOf(origin: string): string | undefined {
  const { server } = takenApart(origin);
  return server === undefined ? undefined : safe(server.replace(/^.*@|:\d+$/g, ''));
}

/** Replaces characters that a folder name must not have, since the host becomes one. */
function safe(host: string): string {
  return host.replace(/[^a-z0-9.-]/g, '_').replace(/^\.+/, '_');
}
