import { Rows } from '../../store/rows.ts';

/** Rights that a token may give on the page (docs/web.md, "Who gets in"). */
export const RIGHTS = ['read', 'watch', 'write', 'operate', 'decide'] as const;
export type Right = (typeof RIGHTS)[number];

/** A token that lets one person into the page. Times are ISO 8601 UTC. */
export interface WebToken {
  /** Eight hex digits, which the token contains. */
  id: string;
  /** The name under which the person reads and writes. */
  name: string;
  rights: Right[];
  /** SHA-256 of the cookie's value, in hex; neither that nor the token can be found out from it. */
  hash: string;
  made: string;
  /** Time from which it lets nobody in. */
  until: string;
}

/** The tokens of people for the page of one machine. */
export class WebTokens extends Rows<WebToken> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'web_token');
  }
}
