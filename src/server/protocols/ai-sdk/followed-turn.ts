import type { RunHandle } from '../../../client/run-handle.ts';
import type { RecordPlace } from '../../../client/stream/record-pages.ts';
import { cursorAt, type StreamItem } from '../../../client/stream/stream-item.ts';
import type { ApprovalView } from '../../../core/domain/approvals.ts';
import { defined } from '../../../core/domain/json.ts';
import { completesStep } from '../../../core/domain/record.ts';
import type { RunStatus } from '../../../core/domain/run.ts';
import type { ContextPage } from '../../../core/protocol.ts';
import { NextValue } from '../../../streams/waits.ts';
import type { AnsweredCall, AskedBelow } from './turn-calls.ts';
import { type FailureText, isOfUser, TurnEncoder } from './turn-encoder.ts';
import { TurnWaits } from './turn-waits.ts';
import type { FileUrl, UiChunk } from './ui-message.ts';

/** A user's message whose answer is sent once the model has read it. */
interface UnreadMessage {
  id: string;
  /** The number of recorded events when the session accepted it. */
  offset: number;
  /** The number of messages in the queue of the session at that time, including this one. */
  queued: number;
}

/** A turn of a session. */
export type Turn = Omit<FollowedTurn, 'isOfOthers' | 'answerOf' | 'fileUrl' | 'failureText'>;

/** A turn of a session that a client follows. */
export interface FollowedTurn {
  run: Pick<RunHandle, 'runId' | 'stream' | 'approvals' | 'progress'>;
  /** 1-based. */
  turn: number;
  /** The place in the record at which the turn begins. */
  place: RecordPlace;
  /** The offset of the response that the client has shown, and after which it continues. */
  after?: number;
  /** The client's decisions on calls of descendants. */
  answers?: readonly AnsweredCall[];
  message?: UnreadMessage;
  /** True for a call about which someone else decides: the stream stays open while only such calls wait. */
  isOfOthers: (waiting: ApprovalView) => boolean;
  /** Returns the recorded decision on a descendant's call that no longer waits. */
  answerOf: (call: AskedBelow) => Promise<AnsweredCall>;
  /** Returns the URLs of generated files, which are otherwise not shown. */
  fileUrl?: FileUrl;
  /** Returns what a page may read about the failure of the turn. Absent: what its code means. */
  failureText?: FailureText;
}

/** The pauses between two checks of descendants' approvals, which no stream item reports. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/** The pauses between two looks at what a turn waits for that sends nothing: each is a call to the server, and none to a worker. */
const QUIET_MS = 3_000;
const LONGEST_QUIET_MS = 15_000;

/**
 * Yields the chunks of a turn until it ends or waits for decisions of the caller. A message that arrives during a turn belongs to it,
 * unless it ends before the model has read it: nothing is sent before that is known. Throws the errors of the stream of a run.
 */
export async function* followTurn(followed: FollowedTurn, signal: AbortSignal): AsyncGenerator<UiChunk> {
  const { run, turn, after, answers = [], message, isOfOthers, answerOf } = followed;
  let number = turn;
  let encoder = encoderOf(followed, { turn, ...defined({ after }) });
  let held: UiChunk[] | undefined = message === undefined ? undefined : [];
  let unread = message?.queued ?? 0;
  const pass = function* (chunks: Iterable<UiChunk>): Generator<UiChunk> {
    if (held === undefined) yield* chunks;
    else held.push(...chunks);
  };
  yield* pass([encoder.begin(), ...encoder.answered(answers)]);
  for await (const { item, status, waits } of heardOf(followed, signal)) {
    // A message that waits for its turn is held: why it waits is not.
    if (waits !== undefined) {
      yield* waits;
      continue;
    }
    if (item !== undefined) {
      const event = item.type === 'event' ? item : undefined;
      if (message !== undefined && event?.event.turn?.unanswered?.includes(message.id) && held !== undefined) {
        number += 1;
        encoder = encoderOf(followed, { turn: number });
        held = [encoder.begin()];
        unread = 0;
        continue;
      }
      // The session's record does not have the decisions of descendants.
      if (encoder.waitsBelow.length > 0) yield* pass(await answeredBelow(encoder, run, answerOf));
      yield* pass(encoder.take(item));
      if (event !== undefined && message !== undefined && event.offset >= message.offset && isOfUser(event.event)) unread -= 1;
    }
    if (status === 'pending_confirmation' && mayChangeApprovals(item))
      yield* pass(encoder.ask((await run.approvals()).pending, { isLate: item === undefined, isOfOthers }));
    if (item === undefined) yield* pass(await answeredBelow(encoder, run, answerOf));
    if (held !== undefined && (unread <= 0 || encoder.isOver)) {
      yield* held;
      held = undefined;
    }
    if (encoder.isOver) return;
  }
}

/** What a follower of a turn hears: an item, or nothing after a pause while calls wait for decisions, or what the turn waits for. */
interface Heard {
  item?: StreamItem;
  /** The newest status of the run. */
  status?: RunStatus;
  waits?: UiChunk[];
}

async function* heardOf({ run, turn, place }: FollowedTurn, signal: AbortSignal): AsyncGenerator<Heard> {
  let status: RunStatus | undefined;
  let pauseMs = SHORTEST_PAUSE_MS;
  let quietMs = QUIET_MS;
  const waits = new TurnWaits(`${run.runId}-turn-${turn}`);
  const end = new AbortController();
  const stream = run.stream({ cursor: cursorAt(run.runId, { ...place, live: new Map() }), signal: AbortSignal.any([signal, end.signal]) });
  const items = new NextValue(stream);
  try {
    for (;;) {
      const asks = status === 'pending_confirmation';
      const got = await items.within(asks ? pauseMs : quietMs, signal);
      signal.throwIfAborted();
      if (got?.done) return;
      const item = got?.value;
      if (item !== undefined) {
        quietMs = QUIET_MS;
        if (item.type === 'status') status = item.status;
        yield { item, ...defined({ status }) };
      } else if (asks) {
        pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
        yield { ...defined({ status }) };
      } else {
        quietMs = Math.min(quietMs * 1.5, LONGEST_QUIET_MS);
        yield { waits: waits.chunks(await run.progress().catch(() => undefined)) };
      }
    }
  } finally {
    end.abort();
    stream.return(undefined).catch(() => undefined);
  }
}

function encoderOf({ run, fileUrl, failureText }: FollowedTurn, of: { turn: number; after?: number }): TurnEncoder {
  return new TurnEncoder({ sessionId: run.runId, ...of, ...defined({ fileUrl, failureText }) });
}

/** Returns the chunks about descendants' calls that others have decided meanwhile. */
async function answeredBelow(encoder: TurnEncoder, run: FollowedTurn['run'], answerOf: FollowedTurn['answerOf']): Promise<UiChunk[]> {
  if (encoder.waitsBelow.length === 0) return [];
  const { pending } = await run.approvals();
  const decided = encoder.waitsBelow.filter(({ subject }) => {
    return !pending.some(({ runId = run.runId, callId }) => runId === subject.runId && callId === subject.callId);
  });
  return [...encoder.answered(await Promise.all(decided.map(async (call) => answerOf(call))))];
}

/** True if the approvals may have changed: after such an item, or if none has arrived for some time. */
function mayChangeApprovals(item: StreamItem | undefined): boolean {
  if (item === undefined || item.type === 'status') return true;
  if (item.type !== 'event') return false;
  const { decision, refused, content } = item.event;
  return decision !== undefined || refused !== undefined || content.some(({ type }) => type !== 'message');
}

/** The number of newest events that are read first. Most turns have fewer. */
const FIRST_LOOK = 50;

/**
 * Finds the beginning of a turn: after the end of the previous turn. Reads the record backwards, so that a long conversation
 * costs no more than a short one. `known`: the number of events that were recorded when the turn was running or about to begin.
 */
export async function placeOfTurn(run: Pick<RunHandle, 'context'>, turn: number, known: number): Promise<RecordPlace> {
  if (turn === 1) return { offset: 0, step: 0 };
  let stepsBehind = 0;
  let until = Infinity;
  let steps = 0;
  for (let from = Math.max(0, known - FIRST_LOOK), look = FIRST_LOOK; ; look *= 4, from = Math.max(0, until - look)) {
    const first = await run.context({ from });
    if (until === Infinity) {
      until = first.total;
      steps = first.currentStep;
    }
    const events = await eventsBetween(run, first, until);
    const end = events.findLastIndex((event) => event.turn !== undefined && event.turn.number < turn);
    stepsBehind += events.slice(end + 1).filter(completesStep).length;
    if (end !== -1 || from === 0) return { offset: from + end + 1, step: Math.max(0, steps - stepsBehind) };
    until = Math.min(until, from);
  }
}

/** Reads the events of a page and of the pages after it. */
async function eventsBetween(run: Pick<RunHandle, 'context'>, first: ContextPage, until: number): Promise<ContextPage['events']> {
  const events = [...first.events];
  for (let next = first.from + events.length; next < until; next = first.from + events.length) {
    const page = await run.context({ from: next });
    if (page.events.length === 0) break;
    events.push(...page.events);
  }
  return events.slice(0, until - first.from);
}
