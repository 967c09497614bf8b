import { isAgentSetting } from '../settings.ts';
import { insideOf, type Place, type Risk } from './mark.ts';

const SECRET_FILE =
  /(?:^|\/)(?:\.env(?:\.[\w-]{1,40})?|id_(?:rsa|ed25519|ecdsa)|[\w.-]{1,100}\.pem)$/;

/** How dangerous it is to read or write at a path, by its text. */
export function pathRisk(path: string, kind: 'reads' | 'writes', place: Place): Risk {
  const { absolute, inside, parts } = insideOf(path, place);
  if (isSecret(absolute, inside))
    return { mark: 'dangerous', because: ['it names a place in which secrets are kept'] };
  if (kind === 'reads') return { mark: 'reads', because: [] };
  if (!inside)
    return { mark: 'dangerous', because: ['it names a path outside of the working directory'] };
  return parts.some((part) => isAgentSetting(part, ''))
    ? { mark: 'dangerous', because: ['it writes settings by which programs run commands'] }
    : { mark: 'writes', because: [] };
}

/**
 * Programs keep keys, logins and histories under names that begin with a dot, in any home. In a working directory
 * such names are common.
 */
function isSecret(absolute: string, inside: boolean): boolean {
  return (
    SECRET_FILE.test(absolute) ||
    /^\/etc\/(?:g?shadow|sudoers|ssh)\b/.test(absolute) ||
    (!inside && absolute.includes('/.'))
  );
}
