/**
 * A moment, ISO 8601 in UTC.
 * @format date-time
 */
export type Time = string;
