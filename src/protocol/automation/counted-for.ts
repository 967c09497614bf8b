/** Attribution of a run's usage beside its place and its thread; absent fields are not written. */
export interface CountedFor {
  /** The skills that its prompt contained, in alphabetical order. */
  skills?: string[];
  /** The subscription that sent its task, or the nearest one behind that. */
  subscription?: string;
}
