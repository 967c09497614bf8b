import { createHash } from 'node:crypto';
import type { Commit } from '../../protocol/commit.ts';
import { formatSource, type Subscription } from '../../protocol/automation/subscription.ts';
import { eventFile } from '../../protocol/layout.ts';

/**
 * Where it is on record that an event with an id was published: whoever finds a file there leaves it
 * at that.
 */
export function eventMarker(source: string, id: string): string {
  return markerAt(`${source}\n${id}`);
}

/**
 * Where it is on record that a subscription which fires only once has done so. One that says something
 * else is another one; a pause changes nothing.
 */
export function onceMarker(subscription: Subscription): string {
  const { name, source, to, channel, tier, match, body } = subscription;
  const said = JSON.stringify([name, formatSource(source), to, channel, tier, match, body]);
  // No event can be called that, since its name has no blank: nobody can make one with this marker.
  return markerAt(`once only\n${said}`);
}

function markerAt(text: string): string {
  return eventFile(createHash('sha256').update(text).digest('hex'));
}

/**
 * A commit that is made only where a marker is not on the tip yet, and then brings it: of several such
 * commits, on whatever machines, one is made.
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
