import { createHash } from 'node:crypto';
import type { Commit } from '../../protocol/outgoing.ts';
import { formatSource, type Subscription } from '../../protocol/automation/subscription.ts';
import { eventFile } from '../../protocol/layout.ts';

/**
 * Returns the path of the marker for a published event with an id: a host that finds a file there does
 * not publish it again.
 */
export function eventMarker(source: string, id: string): string {
  return markerAt(`${source}\n${id}`);
}

/**
 * Returns the path of the marker for a subscription that fires only once. A subscription with another
 * content has another marker; a pause changes nothing.
 */
export function onceMarker(subscription: Subscription): string {
  const { name, source, to, channel, tier, match, body } = subscription;
  const said = JSON.stringify([name, formatSource(source), to, channel, tier, match, body]);
  // No event can have this name, since event names have no blank: nobody can make one with this marker.
  return markerAt(`once only\n${said}`);
}

function markerAt(text: string): string {
  return eventFile(createHash('sha256').update(text).digest('hex'));
}

/**
 * Returns a commit that is made only when a marker is not on the tip yet, and then adds it: of several
 * such commits, on any machines, one is made.
 *
 * @param content of the marker; one line for people
 */
export function onceOnly(commit: Commit, marker: string, content: string): Commit {
  return {
    ...commit,
    files: [...commit.files, { path: marker, content: `${content}\n` }],
    requires: [...(commit.requires ?? []), { path: marker, oid: null }],
    optional: true,
  };
}
