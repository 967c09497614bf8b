/** What a run is counted for beside its place and its thread; nothing is written of what there is none of. */
export interface CountedFor {
  /** The skills that its prompt told, in alphabetical order. */
  skills?: string[];
  /** The subscription that has given what it worked on, or the nearest one behind that. */
  subscription?: string;
}
