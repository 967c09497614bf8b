/** A process that is kept and has nothing to do. */
export interface Idle {
  /** When its last turn ended, ISO 8601 UTC. */
  used: string;
  /** Ends it, unless it has begun to work; returns whether it has ended. */
  end: () => Promise<boolean>;
}

/** What a machine keeps for other transports. */
export interface Elsewhere {
  /** Those at work included. */
  count: number;
  idle: Idle[];
}

/** What a machine keeps for this transport. */
export interface Own extends Elsewhere {
  /** Resolve when those that are about to end have ended. */
  leaving: Promise<void>[];
}

/**
 * Makes room for one process more (warm.md): where as many are kept as may be, the one that was used least
 * recently ends, whichever transport it is of. For one that begins, one of others ends at most, as their limit
 * may be another one.
 *
 * @param most how many this transport may keep, and this machine in all
 * @param own what is kept for this transport at the moment, least recently used first
 * @returns whether there is room
 */
export async function makeRoom(
  most: number,
  own: () => Own,
  elsewhere: () => Promise<Elsewhere>,
): Promise<boolean> {
  for (let now = own(); now.count >= most; now = own()) {
    const [oldest] = now.idle;
    if (oldest === undefined && now.leaving.length === 0) return false;
    await (oldest === undefined ? Promise.race(now.leaving) : oldest.end());
  }
  const others = await elsewhere();
  const here = own();
  if (here.count + others.count < most) return true;
  const idle = [...here.idle, ...others.idle].sort((a, b) => (a.used < b.used ? -1 : 1));
  for (const one of idle) if (await one.end()) return true;
  return false;
}
