/** A message of a channel. */
export interface MessageRef {
  channel: string;
  relPath: string;
}
