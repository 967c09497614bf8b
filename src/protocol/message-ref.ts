/** A message by its place: the channel's id, and the path inside it. */
export interface MessageRef {
  /** The id of the channel. */
  channel: string;
  relPath: string;
}

/** The one text that stands for a message among those of all channels, as in `data/channels/`. */
export function messageKey({ channel, relPath }: MessageRef): string {
  return `${channel}/${relPath}`;
}
