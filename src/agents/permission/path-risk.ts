import { SECRET_PLACES } from '../sandbox.ts';
import { isAgentSetting } from '../settings.ts';
import { insideOf, type Place, type Risk } from './mark.ts';

const SECRET_FILE =
  /(?:^|\/)(?:\.env(?:\.[\w-]{1,40})?|id_(?:rsa|ed25519|ecdsa)|[\w.-]{1,100}\.pem)$/;

/** How dangerous it is to read or write at a path, by its text. */
export function pathRisk(path: string, kind: 'reads' | 'writes', place: Place): Risk {
  const { absolute, inside, parts } = insideOf(path, place);
  if (isSecret(absolute, place))
    return { mark: 'dangerous', because: ['it names a place in which secrets are kept'] };
  if (kind === 'reads') return { mark: 'reads', because: [] };
  if (!inside)
    return { mark: 'dangerous', because: ['it names a path outside of the working directory'] };
  return parts.some((part) => isAgentSetting(part, ''))
    ? { mark: 'dangerous', because: ['it writes settings by which programs run commands'] }
    : { mark: 'writes', because: [] };
}

/** A secret place of any home: a text may name that of another user. */
function isSecret(absolute: string, { home }: Place): boolean {
  if (SECRET_FILE.test(absolute) || /^\/etc\/(?:g?shadow|sudoers|ssh)\b/.test(absolute))
    return true;
  const below = absolute.startsWith(`${home}/`) ? absolute.slice(home.length) : absolute;
  return SECRET_PLACES.some(
    (secret) => below.endsWith(`/${secret}`) || below.includes(`/${secret}/`),
  );
}
