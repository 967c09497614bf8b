/** Most characters of a line of an agent CLI that are shown. */
const MAX_SAID = 300;

/** Colours and other control characters of a terminal, which no pattern expects. */
// eslint-disable-next-line no-control-regex -- the escape character is what this is about
const STEERING = /\u001b\[[0-9;?]*[A-Za-z]|\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A path of any length between the significant words of gemini's output. */
const REPORT = / Full report available at: \S+/;

/** Cleans a line that an agent CLI printed: removes control characters, and cuts it to {@link MAX_SAID} characters. */
export function cleanLine(line: string): string {
  return line
    .slice(0, 4 * MAX_SAID)
    .replace(STEERING, '')
    .replace(REPORT, '')
    .trim()
    .slice(0, MAX_SAID);
}
