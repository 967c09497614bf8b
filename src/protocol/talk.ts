import { filesIn, type AttachedFile } from './attached.ts';
import {
  decisionIn,
  digestIn,
  permissionIn,
  type Decision,
  type PermissionOnRecord,
} from './text/decision.ts';
import { branchIn, type BranchOnRecord } from './text/branch.ts';
import { isName, isRelPath } from './names.ts';
import { isOrigin } from './reference.ts';
import { schemaIn } from './schema.ts';
import { steeredIn, type Steered } from './steered.ts';
import { usageIn, type UsageOnRecord } from './usage.ts';
import type { HeaderFields } from './text/frontmatter.ts';
import { isOneLine } from './text/one-line.ts';

/**
 * Fields of a message that plain 6.0 does not know, and keeps (talk.md). All are optional, and none
 * makes a message malformed: what cannot be read is kept like any unknown field, and means nothing.
 */
export interface TalkFields {
  /** It is a question to its addressee although it has `re`: the only open one of its delivery. */
  asks?: true;
  /** The answers from which the addressee may choose, numbered from 1. */
  options?: string[];
  /** A word on the way to an answer: it settles nothing, pays no debt, ends no waiting. */
  interim?: true;
  /** With `interim`: a run printed it; what a run sent is a question back to the asker. */
  printed?: true;
  /** The interim message whose text is said again here, as the answer. */
  final?: string;
  /** Set in the notice of a delivery that failed for good. */
  failed?: Failure;
  /** The message that is not to be worked on any more. */
  cancels?: string;
  /** With `cancels`: the tasks that were given to others for it go on. */
  only?: true;
  /** With `cancels`: a person takes back, in place of its writer, what no host serves. */
  as_operator?: true;
  /** The question of the same writer and channel for the work on which it is, if that is under way. */
  steers?: string;
  /** In an answer: the messages that its run was given while it was under way. */
  steered?: Steered[];
  /** The files that it brings along. */
  files?: AttachedFile[];
  /** The JSON Schema that an answer to it has to fit, as JSON text. */
  schema?: string;
  /** It is JSON that fits the schema of what it answers. */
  json?: true;
  /** What the run used that wrote it (bills.md). */
  usage?: UsageOnRecord;
  /** The branch on which the run worked that wrote it (work.md). */
  branch?: BranchOnRecord;
  /** A person has to decide on it, with a reply that carries `decision`. */
  proposal?: true;
  /** With `proposal`: the tool call that waits for permission in the middle of a run. */
  permission?: PermissionOnRecord;
  /** What its writer decides on the proposal that `re` names. */
  decision?: Decision;
  /** With `decision`: the SHA-256 of what was proposed, in hex. */
  decides?: string;
}

/** Why a delivery came to nothing. */
export interface Failure {
  /** A code, such as `exit_code`. */
  reason: string;
  /** The runs that were made. */
  attempts: number;
  /** Alias of the host that has the dead letter. */
  host: string;
  /** The dead letter's id on that host. */
  dead_letter: string;
}

/** The most options of a question. */
export const MAX_OPTIONS = 20;
/** The most characters of an option. */
const MAX_OPTION = 200;

const CODE = /^[A-Za-z0-9_.-]{1,64}$/;
const NUMBER = /^\d{1,9}$/;

type Readers = { [K in keyof TalkFields]-?: (value: unknown) => TalkFields[K] | undefined };

const READERS: Readers = {
  asks: isTrue,
  options: optionsIn,
  interim: isTrue,
  printed: isTrue,
  final: refIn,
  failed: failureIn,
  cancels: refIn,
  only: isTrue,
  as_operator: isTrue,
  steers: (value) => (isRelPath(value) ? value : undefined),
  steered: steeredIn,
  files: filesIn,
  schema: schemaIn,
  json: isTrue,
  usage: usageIn,
  branch: branchIn,
  proposal: isTrue,
  permission: permissionIn,
  decision: decisionIn,
  decides: digestIn,
};

/** The keys of {@link TalkFields}, in the order in which they are written. */
const KEYS = Object.keys(READERS) as (keyof TalkFields)[];

/** Those of the fields that can be read. */
export function talkFieldsIn(fields: HeaderFields): TalkFields {
  const found: [string, unknown][] = [];
  for (const key of KEYS) {
    if (!Object.hasOwn(fields, key)) continue;
    const value = READERS[key](fields[key]);
    if (value !== undefined) found.push([key, value]);
  }
  return Object.fromEntries(found);
}

/** The fields of a message as they are written into its header. */
export function talkHeader(fields: TalkFields): HeaderFields {
  return Object.fromEntries(
    KEYS.filter((key) => fields[key] !== undefined).map((key) => [key, fields[key]]),
  );
}

/** Whether a text can be an option. */
export function isOption(value: unknown): value is string {
  return isOneLine(value) && value.length <= MAX_OPTION;
}

/** YAML is read without types, so that a word is what it looks like: true is the text "true". */
function isTrue(value: unknown): true | undefined {
  return value === 'true' || value === true ? true : undefined;
}

function optionsIn(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_OPTIONS) return undefined;
  return value.every(isOption) ? value : undefined;
}

function refIn(value: unknown): string | undefined {
  return isRelPath(value) || isOrigin(value) ? value : undefined;
}

function failureIn(value: unknown): Failure | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { reason, attempts, host, dead_letter: letter } = value as Record<string, unknown>;
  const isCode = (text: unknown): text is string => typeof text === 'string' && CODE.test(text);
  const isCount = typeof attempts === 'number' || typeof attempts === 'string';
  if (!isCode(reason) || !isCode(letter) || !isName(host)) return undefined;
  if (!isCount || !NUMBER.test(String(attempts))) return undefined;
  return { reason, attempts: Number(attempts), host, dead_letter: letter };
}
