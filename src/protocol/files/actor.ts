import { type HeaderFields } from '../text/frontmatter.ts';
import { parseHandWritten } from '../text/hand-written.ts';
import { isSkillName } from '../text/skill-call.ts';
import { MAX_MS, parseDuration } from '../text/times.ts';
import { parseMcpServers, type McpServer } from './mcp-servers.ts';
import { MAX_HISTORY } from './tier-options.ts';
import { wholeIn, parsed, shown, unreadable, type Parsed } from '../text/result.ts';

/** An actor's profile (protocol.md §6): `name` equals the file's stem, the body is its system prompt. */
export interface Profile extends ProfileOptions {
  name: string;
  /** Empty if it is missing: a description is recommended, but a profile without one is valid. */
  description: string;
  body: string;
}

/** Optional settings of a profile; absent if unset, or the default. */
interface ProfileOptions {
  /** `all`: the answers of peers to one question wake it once, when all have arrived (bills.md). */
  wake?: 'all';
  /** Longest wait for the other answers, in milliseconds. */
  joinTimeout?: number;
  /** `none`: its prompt does not list the other actors. */
  peers?: 'none';
  /** The only skills that it may use; absent for all. */
  skills?: string[];
  /** The MCP servers of its runs, once they are approved; absent for none. */
  mcps?: McpServer[];
  /** `subjects`: its prompt lists the notes in force. */
  memories?: 'subjects';
  /** `one`: of all hosts that serve it, one takes each task (pools.md). */
  serve?: 'one';
  /** Number of earlier messages between it and the asker that a new thread contains; absent for none. */
  history?: number;
}

/**
 * Parses an actor profile, or returns every problem found in it.
 *
 * @param stem of the file's name, which `name` has to equal; undefined leaves this check to the
 *   caller, for content that appears under several names
 */
export function parseProfile(text: string, stem: string | undefined): Parsed<Profile> {
  const document = parseHandWritten(text);
  if (!document.ok) return document;
  const { name, description } = document.value.fields;
  const problems: string[] = [];
  if (typeof name !== 'string' || (stem !== undefined && name !== stem)) {
    problems.push(
      name === undefined
        ? 'name is missing'
        : `name is ${shown(name)}, expected ${stem === undefined ? 'a text' : `"${stem}"`} as in the file's name`,
    );
  }
  if (description !== undefined && typeof description !== 'string')
    problems.push(`description is ${shown(description)}, expected a text`);
  const options = optionsOf(document.value.fields, problems);
  if (problems.length > 0) return unreadable(...problems);
  return parsed({
    ...options,
    name: name as string,
    description: typeof description === 'string' ? description : '',
    body: document.value.body,
  });
}

function optionsOf(fields: HeaderFields, problems: string[]): ProfileOptions {
  const { wake = 'each', join_timeout: timeout, peers = 'all', skills, mcps: given } = fields;
  const { memories = 'none', serve = 'all', history: earlier } = fields;
  const history = wholeIn(earlier, MAX_HISTORY);
  const joinTimeout = typeof timeout === 'string' ? parseDuration(timeout.trim()) : undefined;
  if (wake !== 'each' && wake !== 'all')
    problems.push(`wake is ${shown(wake)}, expected each or all`);
  if (peers !== 'none' && peers !== 'all')
    problems.push(`peers is ${shown(peers)}, expected all or none`);
  if (memories !== 'none' && memories !== 'subjects')
    problems.push(`memories is ${shown(memories)}, expected subjects or none`);
  if (serve !== 'one' && serve !== 'all')
    problems.push(`serve is ${shown(serve)}, expected one or all`);
  const isSkills = Array.isArray(skills) && skills.every(isSkillName);
  if (skills !== undefined && !isSkills)
    problems.push(
      `skills is ${shown(skills)}, expected a list of names of skills, such as [review, standup]`,
    );
  const mcps = given === undefined ? [] : parseMcpServers(given, problems);
  if (earlier !== undefined && history === undefined)
    problems.push(
      `history is ${shown(earlier)}, expected how many messages are shown, from 1 to ${String(MAX_HISTORY)}`,
    );
  const isTime = joinTimeout !== undefined && joinTimeout > 0 && joinTimeout <= MAX_MS;
  if (timeout !== undefined && !isTime)
    problems.push(
      `join_timeout is ${shown(timeout)}, expected a duration such as 90s, 30m or 2h, at most 24 days`,
    );
  return {
    ...(wake === 'all' && { wake }),
    ...(isTime && { joinTimeout }),
    ...(peers === 'none' && { peers }),
    ...(isSkills && { skills }),
    ...(mcps.length > 0 && { mcps }),
    ...(memories === 'subjects' && { memories }),
    ...(serve === 'one' && { serve }),
    ...(history !== undefined && { history }),
  };
}
