/**
 * A value of the clone's configuration that git for the bus works by (a URL, an ssh command, a
 * credential helper, …) and that is no longer what was recorded when this machine joined. The
 * recorded one stays in force until the change is accepted (trust.md §1).
 */
export interface SettingChange {
  /** As git names it, such as `remote.origin.url`. */
  name: string;
  /** The values in force, in order; absent when there was none. */
  recorded?: string[];
  /** The values the clone's configuration has now; absent when there is none any more. */
  proposed?: string[];
}
