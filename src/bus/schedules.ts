import { parseSchedule, type Schedule } from '../protocol/automation/schedule.ts';
import { SCHEDULES } from '../protocol/layout.ts';
import { isName } from '../protocol/names.ts';
import type { Parsed } from '../protocol/text/result.ts';
import type { Transport } from '../transport/transport.ts';

/** A file of `local/schedules/` at a commit. */
export interface ScheduleFile {
  /** The stem of its name. */
  name: string;
  path: string;
  oid: string;
  text: string;
  result: Parsed<Schedule>;
}

/** The most schedules of a transport; what is beyond is passed over. */
const MOST = 500;

/** Every schedule at a commit, by name; nothing is read where there is no such folder. */
export async function readSchedules(transport: Transport, commit: string): Promise<ScheduleFile[]> {
  const entries = await transport.list(commit, [SCHEDULES]);
  const files = entries.flatMap(({ path, oid, mode }) => {
    const name = /^local\/schedules\/([^/]+)\.md$/.exec(path)?.[1];
    return name !== undefined && isName(name) && mode.startsWith('100')
      ? [{ name, path, oid }]
      : [];
  });
  const read = files.slice(0, MOST).map(async (file) => {
    const text = (await transport.objects.read(file.oid))?.content?.toString('utf8');
    const result: Parsed<Schedule> =
      text === undefined
        ? { ok: false, problems: ['it cannot be read'] }
        : parseSchedule(text, file.name);
    return { ...file, text: text ?? '', result };
  });
  return Promise.all(read);
}

/**
 * When a file of the bus was committed in its present form, in milliseconds since 1970; undefined if that
 * was before a time. History is looked through only as far back as that.
 */
export async function committedSince(
  transport: Transport,
  tip: string,
  path: string,
  since: Date,
): Promise<number | undefined> {
  const after = `--since=${since.toISOString()}`;
  const out = await transport.git(['log', '-1', '--format=%ct', after, tip, '--', path]);
  const seconds = Number(out.trim());
  return out.trim() !== '' && Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
