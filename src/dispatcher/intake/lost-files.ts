import type { Blob, Commit } from '../../protocol/commit.ts';
import { attachedPath } from '../../protocol/layout.ts';
import { parseMessage } from '../../protocol/message.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Transport } from '../../transport/transport.ts';

/**
 * Adds to what is published again the files that its messages bring along. Their bytes are still in
 * git here, from the history that was replaced.
 *
 * @param from its last commit
 */
export async function withLostFiles(
  transport: Transport,
  from: string,
  entry: Omit<OutboxEntry, 'id'>,
): Promise<Omit<OutboxEntry, 'id'>> {
  const [first, ...rest] = entry.commits;
  const blobs = new Map<string, Blob>();
  for (const file of entry.commits.flatMap(({ files }) => files))
    for (const { sha256, bytes } of attachedIn(file)) {
      const path = attachedPath(sha256);
      blobs.set(path, { path, sha256, bytes });
    }
  const there = await transport.entriesAt(from, [...blobs.keys()]);
  const found = [...blobs.values()].flatMap((blob): Blob[] => {
    const { oid, type } = there.get(blob.path) ?? {};
    return oid === undefined || type !== 'blob' ? [] : [{ ...blob, oid }];
  });
  return first === undefined || found.length === 0
    ? entry
    : { ...entry, commits: [{ ...first, blobs: found }, ...rest] };
}

function attachedIn({ content }: Commit['files'][number]): { sha256: string; bytes: number }[] {
  const message = parseMessage(Buffer.from(content));
  return message.ok ? (message.value.files ?? []) : [];
}
