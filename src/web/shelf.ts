import type {
  WebBrokenFiles,
  WebNoteLog,
  WebNotes,
  WebNoteWhole,
  WebSkills,
  WebSkillWhole,
  WebSubscriptions,
} from '../api/api.ts';
import { brokenFiles } from '../operations/page/broken-files.ts';
import { NOTE_STATES, notePage, notesLog, notesPage } from '../operations/page/notes.ts';
import { skillPage, skillsPage } from '../operations/page/skills.ts';
import { subscriptionsHere } from '../operations/subscriptions/list.ts';
import { MEMORY_KINDS } from '../protocol/files/memory.ts';
import { oneOf, part, text, whole } from './params.ts';
import { route } from './route.ts';

const MOST_NOTES = 200;
const USUAL_NOTES = 50;
const MOST_CHANGES = 1000;
const MOST_BEFORE = 2_147_483_647;

/** The routes that show what is kept on the bus beside messages: skills, notes, and what starts work. */
export const shelf = {
  /** The skills, who takes each, and why one cannot be read */
  skills: route('GET /api/skills', {
    answer: ({ parts }): Promise<WebSkills> => skillsPage(parts.context),
  }),

  /**
   * One skill with its text and the files beside it
   * @fails 400 404
   */
  skill: route('GET /api/skills/{name}', {
    parameters: {
      /** its name */
      name: part,
    },
    answer: ({ get, parts }): Promise<WebSkillWhole> => skillPage(parts.context, get('name')),
  }),

  /** The tasks that follow on answers and events */
  subscriptions: route('GET /api/subscriptions', {
    answer: ({ parts }): Promise<WebSubscriptions> => subscriptionsHere(parts.context),
  }),

  /** The schedules, subscriptions and skills that cannot be read, also those of other hosts */
  broken_files: route('GET /api/broken-files', {
    answer: ({ parts }): Promise<WebBrokenFiles> => brokenFiles(parts.context),
  }),

  /**
   * Shared notes, newest first, or those that have some words, best first
   * @fails 400
   */
  memories: route('GET /api/memories', {
    parameters: {
      /** the words; without them, all notes */
      q: text,
      /** `in_force` (the default), `replaced`, `forgotten` or `all` */
      state: oneOf(NOTE_STATES),
      /** note, decision, preference, reference or archive */
      kind: oneOf(MEMORY_KINDS),
      /** only those of this scope: `global`, the id of a channel, or `actor:<name>` */
      scope: text,
      /** the maximum number of notes */
      limit: whole({ minimum: 1, maximum: MOST_NOTES, default: USUAL_NOTES }),
      /** the number of first notes to leave out, for the pages after the first */
      skip: whole({ minimum: 0, maximum: MOST_BEFORE, default: 0 }),
    },
    answer: ({ get, given, parts }): Promise<WebNotes> => {
      const { q: words } = given('q');
      return notesPage(parts.context, parts.notes, {
        ...(words !== undefined && { words }),
        ...given('kind', 'scope'),
        state: get('state') ?? 'in_force',
        limit: get('limit'),
        skip: get('skip'),
      });
    },
  }),

  /**
   * One shared note with its text, and what was done with it
   * @fails 400 404 409 422
   */
  memory: route('GET /api/memories/{memory}', {
    parameters: {
      /** its file name, a unique hex suffix of it, or its name */
      memory: part,
    },
    answer: ({ get, parts }): Promise<WebNoteWhole> =>
      notePage(parts.context, parts.notes, get('memory')),
  }),

  /**
   * Who changed the shared notes, newest first
   * @fails 400
   */
  memory_log: route('GET /api/memory-log', {
    parameters: {
      /** the maximum number of changes */
      limit: whole({ minimum: 1, maximum: MOST_CHANGES, default: USUAL_NOTES }),
    },
    answer: ({ get, parts }): Promise<WebNoteLog> =>
      notesLog(parts.context, parts.notes, get('limit')),
  }),
};
