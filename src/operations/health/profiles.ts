import { act, type Finding } from './finding.ts';
import { profileInForce, type ProfileSeen } from '../../bus/profiles.ts';
import type { Context } from '../context.ts';
import { profilesOf } from '../setup/actors.ts';

/** A profile that came, or was changed, while this machine knew the actor already. */
export interface ProfileChange extends ProfileSeen {
  actor: string;
  path: string;
}

/** Milliseconds for which a change is told. */
const NEWS_MS = 7 * 86_400_000;

/** What is to be said of the profiles of some actors at a commit. */
export async function lookAtProfiles(
  context: Context,
  tip: string,
  actors: readonly string[],
): Promise<{ problems: string[]; changes: ProfileChange[] }> {
  const place = profilesOf(context);
  const since = new Date(context.now().getTime() - NEWS_MS).toISOString();
  const found = await Promise.all(actors.map((actor) => profileInForce(place, tip, actor)));
  return {
    problems: found.flatMap(({ problem }) => problem ?? []),
    changes: found.flatMap(({ profile, seen }, at) =>
      profile === undefined || seen === undefined || seen.at < since
        ? []
        : [{ actor: actors[at] ?? '', path: profile.path, ...seen }],
    ),
  };
}

/** What happened to a profile, in words. */
export function profileLine({ actor, path, what, at }: ProfileChange): string {
  const how = what === 'new' ? 'came' : 'was changed';
  return `${path} ${how}, seen here first at ${at}; read it with: crosstalk actor show ${actor}`;
}

/** The most of them that are told. */
const MOST_FINDINGS = 5;

/** What is wrong with the host file and with profiles, which stay in force as they were or have no effect. */
export function fileFindings({
  host,
  profile_problems: profiles,
}: {
  host: { path: string; unknown: readonly string[] } | null;
  profile_problems: readonly string[];
}): Finding[] {
  return [
    ...(host?.unknown ?? []).map((one) => act(`${one}; correct it in ${host?.path ?? ''}`)),
    ...profiles.map((one) => act(`${one}; correct it with: crosstalk actor edit <name>`)),
  ].slice(0, MOST_FINDINGS);
}
