import { parseHostReport, type HostReport, type Reported } from '../protocol/files/host-report.ts';
import { HOST_REPORTS, hostReportFile } from '../protocol/layout.ts';
import type { Transport } from '../transport/transport.ts';
import type { HostEntry } from './host.ts';
import { Cache } from './cache.ts';

/** Milliseconds by which the clock of another host may be ahead; a later report is ignored. */
const AHEAD_MS = 10 * 60_000;

/** Cached reports; `report` is undefined for a file that is not a report. */
const kept = new Cache<{ report: HostReport | undefined }>(1024 * 1024);

/**
 * Reads the reports of a transport's hosts on themselves at a commit, by alias. Only reports of a host
 * with a host file are read, and only mail of actors that this file declares is included.
 *
 * @param hosts the host files at that commit
 */
export async function readHostReports(
  transport: Transport,
  commit: string,
  hosts: readonly HostEntry[],
  now: Date,
): Promise<Map<string, HostReport>> {
  const reports = new Map<string, HostReport>();
  const files = await transport.list(commit, [HOST_REPORTS]);
  const plain = new Map(
    files.flatMap(({ path, mode, oid }) => (mode.startsWith('100') ? [[path, oid]] : [])),
  );
  for (const { result } of hosts) {
    if (!result.ok) continue;
    const { alias, actors } = result.value;
    const oid = plain.get(hostReportFile(alias));
    const report = oid === undefined ? undefined : await readReport(transport, oid);
    if (report === undefined || Date.parse(report.at) > now.getTime() + AHEAD_MS) continue;
    const served = ({ count, messages }: Reported): Reported => ({
      count,
      messages: messages.filter(({ actor }) => actors.has(actor)),
    });
    const { at, running, waiting, failed } = report;
    const mail = { running: served(running), waiting: served(waiting), failed: served(failed) };
    const away = (report.away ?? []).filter(
      ({ actor, until }) =>
        actors.has(actor) && (until === undefined || Date.parse(until) > now.getTime()),
    );
    reports.set(alias, { at, ...mail, ...(away.length > 0 && { away }) });
  }
  return reports;
}

async function readReport(transport: Transport, oid: string): Promise<HostReport | undefined> {
  const known = kept.get(oid);
  if (known !== undefined) return known.report;
  const object = await transport.objects.read(oid);
  const report = object?.content && parseHostReport(object.content);
  return object === undefined ? report : kept.keep(oid, { report }, 0).report;
}
