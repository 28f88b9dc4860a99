import type { Approval, StatusView } from './api-types.ts';
import { moment } from './format.ts';
import { waitName } from './notes.ts';
import { TEXTS } from './texts.ts';

// What a run waits for at this moment, in sentences.

type Running = NonNullable<StatusView['running']>[number];

/** Something that a run waits for. A warning: somebody may have to do something. */
export interface Wait {
  text: string;
  tone: 'calm' | 'warn';
}

/** How long a new run may have no worker before that is worth a word, in milliseconds. */
const BEGINS_WITHIN = 3_000;

/**
 * Says what a run waits for that has not ended: nothing of one that is at work. `isAsked`: what waits for a decision is shown with its form.
 */
export function waitsOf(view: StatusView, { now, isAsked }: { now: number; isAsked: boolean }): Wait[] {
  const { nows } = TEXTS;
  const {
    status,
    waitingFor,
    waitingChildren = [],
    running = [],
    postponed = [],
    queued,
    missing = [],
    archiving,
    waitsForWorker: untaken,
  } = view;
  const found: Wait[] = [];
  const say = (text: string, tone: Wait['tone'] = 'calm'): void => void found.push({ text, tone });
  if (untaken !== undefined) say(nows.worker(untaken.why, untaken.taskQueue, moment(untaken.since)), 'warn');
  else if (hasNotBegun(view) && now - Date.parse(view.startTime) >= BEGINS_WITHIN) say(nows.noWorker, 'warn');
  if (status === 'paused') say(nows.paused, 'warn');
  if (status === 'idle') say(nows.idle);
  if (!isAsked && status === 'pending_confirmation' && waitingFor.length > 0)
    say(nows.decision(waitingFor.map(waitName).join(', ')), 'warn');
  if (!isAsked && waitingChildren.length > 0) say(nows.below(waitingChildren.length), 'warn');
  for (const { toolName, reason, until } of postponed) say(nows.postponed(toolName, reason, moment(until)));
  for (const call of running) {
    const wait = callText(call);
    if (wait !== undefined) found.push(wait);
  }
  for (const { kind, name, until } of missing) say(nows.missing(String(kind), String(name), moment(String(until))), 'warn');
  if (archiving !== undefined) say(nows.archiving(moment(archiving.since)));
  if (queued > 0 && status !== 'running') say(nows.queued(queued));
  return found;
}

/** True for a run of which no worker has executed anything: its limits are known once one has. */
function hasNotBegun({ status, events, limits, running, session }: StatusView): boolean {
  return status === 'running' && events === 0 && limits === undefined && running === undefined && session === undefined;
}

/** Says what is worth knowing of a call that is under way: nothing of a first attempt, which the steps show. */
function callText({ name, attempt, progress, lastFailure, refused, waitsForBatch }: Running): Wait | undefined {
  const { nows } = TEXTS;
  const what = nows.names[name] ?? nows.activity(name);
  if (waitsForBatch !== undefined) {
    const { collector, since, batch } = waitsForBatch;
    return { text: nows.batch(what, collector, moment(since), batch), tone: 'calm' };
  }
  if (refused !== undefined) {
    const { times, code, nextAttemptAt, givesUpAt } = refused;
    const parts = [
      nows.refused(what, times, code),
      ...(nextAttemptAt === undefined ? [] : [nows.tried(moment(nextAttemptAt))]),
      nows.givesUp(moment(givesUpAt)),
    ];
    return { text: `${parts.join(', ')}.${lastFailure === undefined ? '' : ` ${lastFailure}`}`, tone: 'warn' };
  }
  if (attempt > 1 || lastFailure !== undefined) return { text: nows.attempt(what, attempt, lastFailure), tone: 'warn' };
  if (progress === undefined) return undefined;
  return { text: nows.progress(what, typeof progress === 'string' ? progress : JSON.stringify(progress)), tone: 'calm' };
}

/** Says why calls have no result yet, by their ids: those that wait for a decision of somebody, or for a time. */
export function callWaits(view: StatusView | undefined, asked: readonly Pick<Approval, 'callId'>[]): ReadonlyMap<string, string> {
  const decisions = asked.map(({ callId }) => [callId, TEXTS.waitsForDecision] as const);
  const postponed = view?.postponed ?? [];
  return new Map([
    ...decisions,
    ...postponed.map(({ callId, reason, until }) => [callId, TEXTS.nows.waitsUntil(reason, moment(until))] as const),
  ]);
}
