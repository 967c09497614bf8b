import { shown } from '../text/result.ts';

/**
 * Whether a text can name the folder of a tier: absolute or below the home folder, and without control
 * characters.
 */
export function isWorkdir(text: unknown): text is string {
  return typeof text === 'string' && /^(?:\/|~(?:\/|$))/.test(text) && !/\p{Cc}/u.test(text);
}

/** Access of an agent CLI to the machine and the network (work.md, "Sandbox"); without it there is no sandbox. */
export interface Sandbox {
  /** Folders that it may write to besides its own, absolute or below `~`. */
  write: readonly string[];
  /** Files and folders of HOME and of the machine that it sees besides those that every run sees. */
  read: readonly string[];
  /** Files and folders within the visible ones that are hidden from it. */
  hide: readonly string[];
  /**
   * The hosts that it may reach: `none`, `all`, `model` for those of its model, or names of hosts, which may
   * have a port and begin with `*.`; `model` may be among these.
   */
  net: readonly string[];
  /** Variables that it receives besides those of every run and of its CLI; `*` at the end for any ending. */
  env: readonly string[];
}

export interface TierSandbox {
  sandbox?: Sandbox;
}

/** The one option of a tier that is about its sandbox. */
export const SANDBOX_OPTIONS: readonly string[] = ['sandbox'];

/** The sandbox that `default` names. */
export const USUAL_SANDBOX: Sandbox = { write: [], read: [], hide: [], net: ['model'], env: [] };
const KEYS = ['write', 'read', 'hide', 'net', 'env'];
const VARIABLE = /^[A-Za-z_]\w*\*?$/;
const HOST = /^(?:\*\.)?(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::\d{1,5})?$/;
/** Most entries of one of its lists. */
const MOST_ITEMS = 100;

/** Parses the sandbox of a tier; invalid values are added to the problems. */
export function tierSandbox(
  where: string,
  { sandbox }: Record<string, unknown>,
  problems: string[],
): TierSandbox {
  if (sandbox === undefined) return {};
  if (sandbox === 'default') return { sandbox: USUAL_SANDBOX };
  const at = `${where}.sandbox`;
  if (typeof sandbox !== 'object' || sandbox === null || Array.isArray(sandbox)) {
    // A command that sets it can only pass a text.
    const looksLikeMapping = typeof sandbox === 'string' && sandbox.startsWith('{');
    const how = looksLikeMapping
      ? ', which is written into the host file by hand, and then accepted with: crosstalk host approve'
      : '';
    problems.push(
      `${at} is ${shown(sandbox)}, expected default, or a mapping of ${KEYS.join(', ')}${how}`,
    );
    return {};
  }
  const given = sandbox as Record<string, unknown>;
  for (const key of Object.keys(given))
    if (!KEYS.includes(key))
      problems.push(`${at}.${shown(key)} is unknown; a sandbox has ${KEYS.join(', ')}`);
  const list = (key: string, fits: (text: string) => boolean, expected: string): string[] => {
    const value = given[key];
    if (value === undefined) return [];
    const items: unknown[] = Array.isArray(value) ? value : [value];
    const isList = items.every((item): item is string => typeof item === 'string' && fits(item));
    if (isList && items.length <= MOST_ITEMS) return items;
    problems.push(`${at}.${key} is ${shown(value)}, expected ${expected}`);
    return [];
  };
  const paths = 'a list of paths, absolute or below ~';
  const net = list(
    'net',
    isHost,
    'none, model, all, or a list of hosts such as registry.npmjs.org',
  );
  if (net.length > 1 && net.some((one) => one === 'none' || one === 'all'))
    problems.push(`${at}.net names none or all beside others; keep one of them`);
  return {
    sandbox: {
      write: list('write', isWorkdir, paths),
      read: list('read', isWorkdir, paths),
      hide: list('hide', isWorkdir, paths),
      net: net.length === 0 ? USUAL_SANDBOX.net : net,
      env: list('env', (text) => VARIABLE.test(text), 'a list of variables'),
    },
  };
}

/** Whether a value can be a sandbox in the record of approvals. */
export function isSandbox(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const lists = value as Record<string, unknown>;
  return KEYS.every((key) => {
    const list = lists[key];
    return Array.isArray(list) && list.every((one) => typeof one === 'string');
  });
}

function isHost(text: string): boolean {
  return text.length <= 253 && HOST.test(text);
}
