/** Identifies a message by its channel and its path, wherever it is mentioned. */
export interface MessageRef {
  /** The id of the channel. */
  channel: string;
  relPath: string;
}

/** A text that identifies a message among those of all channels, as in `data/channels/`. */
export function messageKey({ channel, relPath }: MessageRef): string {
  return `${channel}/${relPath}`;
}
