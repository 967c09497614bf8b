/** A message identified by its channel and its path. */
export interface MessageRef {
  /** The id of the channel. */
  channel: string;
  relPath: string;
}

/** Returns a text that identifies a message among those of all channels, as in `data/channels/`. */
export function messageKey({ channel, relPath }: MessageRef): string {
  return `${channel}/${relPath}`;
}
