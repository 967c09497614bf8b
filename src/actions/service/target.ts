import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import {
  isServiceName,
  namesService,
  plistStrings,
  servedByPlist,
  type ManagerKind,
  servedBy,
} from '../../service/files.ts';
import { MADE_BY } from '../../service/environment.ts';
import type { Target } from '../../service/steps.ts';
import { plainFileAt } from '../../plain-file.ts';
import type { Context } from '../context.ts';
import type { Machine } from './machine.ts';

/** Maximum bytes of the environment of a service. */
const MAX_ENVIRONMENT = 1024 * 1024;

/** Returns the service managers of a platform and the folder in which each keeps its files. */
function folders(
  env: NodeJS.ProcessEnv,
  { platform, systemUnits }: Machine,
): { kind: ManagerKind; folder: string; ending: string }[] {
  const home = env['HOME'] ?? homedir();
  if (platform === 'darwin')
    return [{ kind: 'launchd', folder: join(home, 'Library', 'LaunchAgents'), ending: '.plist' }];
  const given = env['XDG_CONFIG_HOME'] ?? '';
  const config = given === '' ? join(home, '.config') : given;
  return [
    { kind: 'systemd-user', folder: join(config, 'systemd', 'user'), ending: '.service' },
    { kind: 'systemd-system', folder: systemUnits, ending: '.service' },
  ];
}

/** Returns the place of a service of this kind and name, whether it exists or not. */
export function targetOf(
  context: Pick<Context, 'env'>,
  machine: Machine,
  kind: ManagerKind,
  name: string,
): Target {
  const place = folders(context.env, machine).find((one) => one.kind === kind);
  return {
    kind,
    name,
    file: join(place?.folder ?? '', `${name}${place?.ending ?? ''}`),
    domain: kind === 'launchd' ? domainOf(context.env, machine.uid) : '',
  };
}

/**
 * Returns the domain of launchd for this user. Over ssh there is no graphical session to which a service
 * could belong.
 */
function domainOf(env: NodeJS.ProcessEnv, uid: number): string {
  return `${(env['SSH_CONNECTION'] ?? '') === '' ? 'gui' : 'user'}/${String(uid)}`;
}

/** An installed service. */
export interface InstalledService extends Target {
  /** The text of its file. */
  text: string;
}

/**
 * Finds the services of a transport on this machine from the existing files: those of this clone, and
 * those of others.
 */
export async function findServices(
  context: Context,
  machine: Machine,
): Promise<{ ours: InstalledService[]; others: (InstalledService & { serves: string })[] }> {
  const ours: InstalledService[] = [];
  const others: (InstalledService & { serves: string })[] = [];
  for (const service of await servicesHere(context.env, machine)) {
    if (!namesService(service.name, context.transport.id)) continue;
    const { kind, text } = service;
    const serves = kind === 'launchd' ? servedByPlist(text) : servedBy(text);
    if (serves === context.transport.dir) ours.push(service);
    else others.push({ ...service, serves: serves ?? 'an unknown folder' });
  }
  return { ours, others };
}

/** Finds the services of all transports on this machine from the existing files. */
export async function servicesHere(
  env: NodeJS.ProcessEnv,
  machine: Machine,
): Promise<InstalledService[]> {
  const found: InstalledService[] = [];
  for (const { kind, folder, ending } of folders(env, machine)) {
    for (const entry of (await readdir(folder).catch(() => [])).sort()) {
      const name = entry.slice(0, -ending.length);
      if (!entry.endsWith(ending) || !isServiceName(name)) continue;
      const target = targetOf({ env }, machine, kind, name);
      found.push({ ...target, text: await readFile(target.file, 'utf8').catch(() => '') });
    }
  }
  return found;
}

/**
 * Returns the file with the environment that an installation has written for a service. Whoever edits its file may
 * name others besides, or instead: those are not ours.
 */
export function environmentOf({ kind, text }: InstalledService): string | undefined {
  // The label, the shell, -c, the script and $0 come first.
  const named =
    kind === 'launchd'
      ? plistStrings(text).slice(5, 6)
      : [...text.matchAll(/^EnvironmentFile=-?(.*)$/gm)].map(([, path = '']) =>
          path.replaceAll('%%', '%'),
        );
  return named.find((path) => {
    const found = plainFileAt(path, MAX_ENVIRONMENT, { follow: false });
    return found.kind === 'text' && found.text.startsWith(MADE_BY);
  });
}

/**
 * Returns the service of this clone.
 *
 * @throws CrosstalkError `not_found` when there is none, `ambiguous` when there are several
 */
export async function theService(context: Context, machine: Machine): Promise<InstalledService> {
  const { ours } = await findServices(context, machine);
  const [found, ...more] = ours;
  if (found === undefined)
    throw new CrosstalkError(
      'not_found',
      `no service is installed for ${context.transport.dir}; make one with: crosstalk service install`,
    );
  if (more.length === 0) return found;
  throw new CrosstalkError(
    'ambiguous',
    `several services are installed for ${context.transport.dir}: ${ours.map(({ file }) => file).join(', ')}; remove all but one`,
  );
}

/** Returns the user as whom a service runs according to its file; null for services of the user. */
export function userOf({ text }: InstalledService): string | null {
  return /^User=(.*)$/m.exec(text)?.[1] ?? null;
}

/** Returns the program and the entry file that a service starts. */
export function programsOf({ kind, text }: InstalledService): string[] {
  // The label, the shell, -c, the script, $0 and the environment come first.
  if (kind === 'launchd') return plistStrings(text).slice(6, 8);
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? '';
  const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word);
  return words
    .slice(0, 2)
    .map((word) => word.replace(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'));
}
