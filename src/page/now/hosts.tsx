import type { JSX } from 'preact';
import type { WebActorNow, WebHost, WebMachine, WebNow, WebRun, WebTool } from '../../api/api.ts';
import { useModel } from '../live/use-live.ts';
import { Link } from '../route/link.tsx';
import { StateChips } from '../parts/state-chip.tsx';
import { lookOf } from '../../present/state.ts';
import { Card, Rows, usePassed } from './card.tsx';
import { momentOf, secondsSince } from '../../present/times.ts';
import { hostWords, machineWords, saidWords, wroteWords } from '../../present/hosts.ts';

/** The machines, and when each one was last active. */
export function Hosts({ now }: { now: WebNow }): JSX.Element {
  const none = now.hosts.length === 0 ? 'No host file yet: crosstalk init writes one.' : undefined;
  return (
    <Card title="Hosts" count={now.hosts.length} none={none}>
      <Rows>
        {now.hosts.map((host) => (
          <li key={host.alias}>
            <Host
              host={host}
              other={now.machines?.find(({ alias }) => alias === host.alias)}
              at={now.at}
            />
          </li>
        ))}
      </Rows>
    </Card>
  );
}

function Host({
  host,
  other,
  at,
}: {
  host: WebHost;
  other: WebMachine | undefined;
  at: string;
}): JSX.Element {
  const passed = usePassed(at);
  const { alias, this_machine: here, heartbeat_age_s: age, problem } = host;
  return (
    <>
      <p>
        <bdi class="who">{alias}</bdi> {here && <span class="chip dim">this machine</span>}
      </p>
      <p class={here && age === null ? 'bad' : 'dim'}>
        {hostWords(host, other, { passed, now: Date.now() })}
      </p>
      {other?.live === true && <p class="dim">{machineWords(other).filter(Boolean).join(', ')}</p>}
      {!here && host.said !== undefined && <Said said={host.said} passed={passed} at={at} />}
      <p class="dim">
        {host.actors.length === 0 ? 'serves no actor' : `serves ${host.actors.join(', ')}`}
      </p>
      {problem !== null && <p class="bad">{problem}</p>}
    </>
  );
}

/** Most of the running, waiting or failed items on another host that are named. */
const NAMED = 3;

/** State of another host at its last report, by its own word. */
function Said({
  said,
  at,
  passed,
}: {
  said: NonNullable<WebHost['said']>;
  at: string;
  passed: number;
}): JSX.Element {
  const { words, parts } = saidWords(said, secondsSince(said.at, Date.parse(at)) + passed);
  return (
    <>
      <p class="dim">{words}</p>
      {parts.flatMap(([what, { messages }]) =>
        messages.slice(0, NAMED).map(({ actor, channel, relPath, since }, index) => (
          <p key={`${what} ${String(index)}`} class="dim">
            {what}: <Link to={{ view: 'thread', channel, relPath }}>{actor}</Link>, since{' '}
            {momentOf(since)}
          </p>
        )),
      )}
    </>
  );
}

interface Watching {
  /** The runs that are watched. */
  watched: readonly WebRun[];
  watch: (run: WebRun) => void;
}

/** Sorts those that no host serves to the end, as only the first few are shown unasked. */
function servedFirst(actors: readonly WebActorNow[]): WebActorNow[] {
  const isServed = ({ hosts }: WebActorNow): boolean => hosts.length > 0;
  return [...actors.filter(isServed), ...actors.filter((actor) => !isServed(actor))];
}

/** The actors that can be asked, and what each one is doing. */
export function Actors({ now, ...watching }: { now: WebNow } & Watching): JSX.Element {
  const none = now.actors.length === 0 ? 'No actor yet: crosstalk actor add makes one.' : undefined;
  return (
    <Card title="Actors" count={now.actors.length} none={none}>
      <Rows>
        {servedFirst(now.actors).map((actor) => (
          <li key={actor.name}>
            <Actor actor={actor} {...watching} />
          </li>
        ))}
      </Rows>
    </Card>
  );
}

function Actor({ actor, watched, watch }: { actor: WebActorNow } & Watching): JSX.Element {
  const { session } = useModel();
  const { name, description, hosts, tools, running, waiting, by_state: mail } = actor;
  const idle = running.length === 0 && waiting === 0;
  return (
    <>
      <p>
        <bdi class="who">{name}</bdi>{' '}
        <span class="dim">
          {hosts.length === 0 ? 'on no host' : `on ${hosts.map(({ alias }) => alias).join(', ')}`}
        </span>
      </p>
      <p class="states">
        {running.map((run) => (
          <Link
            key={run.id}
            to={
              run.messages[0] === undefined
                ? { view: 'channel', channel: run.channel }
                : { view: 'thread', channel: run.channel, relPath: run.messages[0] }
            }
            title={`in ${run.channel_name}`}
          >
            <StateChips
              states={[{ state: 'running', actor: name, detail: null, since: run.since }]}
            />
          </Link>
        ))}
        {COUNTED.map((state) => {
          const { sign, tone } = lookOf(state);
          return (
            mail[state] > 0 && (
              <span key={state} class={`chip ${tone}`} data-state={state}>
                <span aria-hidden="true">{sign}</span> {mail[state]} {state}
              </span>
            )
          );
        })}
        {idle && (
          <span class="dim">
            idle{actor.last_wrote !== null && `, ${wroteWords(actor.last_wrote, Date.now())}`}
          </span>
        )}
      </p>
      {session?.read_only === false && running.length > 0 && (
        <p class="todo">
          {running.map((run, index) => (
            <button
              key={run.id}
              id={watchButtonId(run)}
              type="button"
              aria-label={`Watch ${name}${running.length > 1 ? `, run ${String(index + 1)}` : ''}`}
              disabled={watched.some(({ id }) => id === run.id)}
              onClick={() => {
                watch(run);
              }}
            >
              Watch
            </button>
          ))}
        </p>
      )}
      {tools.length > 0 && (
        <p class="dim">
          tools:{' '}
          {tools.map((tool) => (
            <span key={`${tool.name} ${tool.state}`} class={toolStyle(tool)}>
              {toolWords(tool)}
            </span>
          ))}
        </p>
      )}
      {description !== '' && session !== undefined && <p class="dim about">{description}</p>}
    </>
  );
}

function toolStyle({ state, missing }: WebTool): string {
  return `chip ${missing.length > 0 ? 'bad' : state === 'held' ? 'wait' : 'dim'}`;
}

function toolWords({ name, state, missing }: WebTool): string {
  if (missing.length > 0) return `${name}: lacks ${missing.join(', ')}`;
  return state === 'held' ? `${name}: held until approved` : name;
}

/** Returns the id of the button that shows the output of a run. */
export function watchButtonId({ id }: WebRun): string {
  return `watch-${id}`;
}

/** States of mail that are counted; running mail is shown by its run. */
const COUNTED = ['waiting', 'held', 'failing', 'failed', 'parked'] as const;
