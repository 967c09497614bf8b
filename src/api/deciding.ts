import type { Decision } from '../protocol/text/decision.ts';

/** What an actor proposes, and what says of it that it decides. */
export interface WebProposed {
  channel: string;
  relPath: string;
  /** The actor that proposes. */
  from: string;
  /** The alias of its host; null if it says none. */
  host: string | null;
  /** The name of who decides. */
  approver: string;
  /** All of it; characters that are not drawn are escaped, except line feeds and tabs. */
  body: string;
  /** The tool call that waits for permission, if it is about one. */
  permission: WebToolCall | null;
  /** What a decision is bound to. */
  digest: string;
  /** What says that it decides on it, and counts for nothing. */
  ignored: WebIgnored[];
}

/** A tool call that waits for permission. */
interface WebToolCall {
  tool: string;
  /** Its input as JSON text. */
  input: string;
  /** What it does, as far as its host can tell. */
  marks: string[];
}

/** A decision that counts for nothing, with the reason in words. */
interface WebIgnored {
  relPath: string;
  from: string;
  decision: Decision;
  why: string;
}

/** `GET /api/proposal`: what the reader is asked to decide. */
export interface WebProposal {
  /** Null where there is nothing to decide. */
  proposal: WebProposed | null;
  /** Why there is nothing to decide: it is decided, or somebody else decides. */
  why: string | null;
}

/** Body of `POST /api/decide`. */
export interface WebDecideRequest {
  /** The message that proposes it: relPath, `<channel>/<relPath>`, or its hex suffix if unique. */
  message: string;
  decision: Decision;
  /** Goes to the actor, or to whoever asked. */
  note?: string;
  /** The digest of what was shown; nothing else is decided on. */
  digest: string;
}

/** Answer of `POST /api/decide`, 202: the decision is safe on this machine's disk. */
export interface WebDecided {
  decision: Decision;
  channel: string;
  /** relPath of what was decided on, and of the message that decides. */
  proposal: string;
  relPath: string;
}
