import { isName } from '../layout.ts';
import { inLine } from '../text/structure.ts';

/** An actor other than the one that receives the prompt. */
export interface Peer {
  name: string;
  /** Description in its profile; empty if there is none. */
  description: string;
  /** The hosts that serve it; empty while nobody does. */
  hosts: { alias: string; tiers: string[] }[];
}

/** The actors that a prompt lists, served ones first, and the number of others. */
export interface Peers {
  known: Peer[];
  more: number;
}

/** Limits of the section, so that no description, and no number of actors, fills a prompt. */
export const PEER_LIMITS = { bytes: 4096, description: 300, hosts: 5, tiers: 5 };

/**
 * Lists the other actors, one a line; empty when there are none. Anybody who can push writes descriptions and
 * names of tiers, so they appear within the line: a description as a JSON string.
 */
export function aboutPeers(peers: Peers | undefined): string {
  if (peers === undefined) return '';
  const { known, more } = peers;
  const lines: string[] = [];
  // Room for the line that says how many are left out.
  let left = PEER_LIMITS.bytes - 100;
  for (const line of known.map(aboutPeer)) {
    left -= Buffer.byteLength(line) + 1;
    if (left < 0) break;
    lines.push(line);
  }
  const out = known.length - lines.length + more;
  if (out > 0) lines.push(`- ${String(out)} more are left out here: crosstalk actor list`);
  return lines.join('\n');
}

function aboutPeer({ name, description, hosts }: Peer): string {
  const served = listed(
    hosts.map(({ alias, tiers }) => `${alias} (${listed(tiers.map(tierText), PEER_LIMITS.tiers)})`),
    PEER_LIMITS.hosts,
  );
  const where = hosts.length === 0 ? 'nobody serves it now, so mail for it waits' : `on ${served}`;
  const said = clip(inLine(description));
  return `- ${name}, ${where}${said === '' ? '' : `: ${JSON.stringify(said)}`}`;
}

/** Renders the name of a tier, which may be anything printable. */
function tierText(tier: string): string {
  return isName(tier) ? tier : JSON.stringify(inLine(tier));
}

function clip(text: string): string {
  if (text.length <= PEER_LIMITS.description) return text;
  // A character cut in half at the end is left out.
  return `${text.slice(0, PEER_LIMITS.description).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function listed(parts: readonly string[], most: number): string {
  const more = parts.length - most;
  return `${parts.slice(0, most).join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}
