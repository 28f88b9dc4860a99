import { activityInfo } from '@temporalio/activity';
import type { Anchor } from '../../src/anchors/anchors.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { checksAnswers } from '../../src/core/domain/parts.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import type { ModelDelta, StreamedAttempt, StreamEntry } from '../../src/core/domain/stream.ts';
import { type OfRun, QUERIES, type RunToolInput } from '../../src/core/protocol.ts';
import { recordableJson } from '../../src/model/recordable-json.ts';
import { type Attempt, attemptNumber } from '../attempts/attempt.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { executionKey, queryRun } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Begins the stream of an answer whose event will have that id; undefined if the run is not streamed. */
export type BeginStream = (attempt: Pick<Attempt, 'stream'>, eventId: string) => Pick<CallStream, 'add' | 'end'> | undefined;

interface StreamedModelCall {
  run: OfRun;
  /** The snapshot of the acting agent, or of the program. */
  snapshot: AgentSnapshot;
  /** The number of events that the run had recorded. Absent for a step of a program: steps run in parallel. */
  through?: number;
  /** The address of the step of a program. */
  callId?: string;
  /** The anchors that the answer must keep. */
  anchors?: readonly Anchor[];
}

/**
 * Returns the function that begins the stream of an attempt of a model call, and announces the attempt. Text that may be the answer only
 * leaves the process if it need not pass a check of the acting agent or an anchor first. Otherwise it arrives with the recorded event, once
 * it has passed.
 */
export function modelStream(runtime: ActivityRuntime, { run, snapshot, anchors = [], ...call }: StreamedModelCall): BeginStream {
  const isWithheld = checksAnswers(snapshot) || anchors.some(({ onViolation }) => onViolation !== 'warn');
  const tools = new Set(snapshot.tools.map(({ name }) => name));
  // The text of a JSON reply is never the answer, which is a value in it: protocols could not take it back.
  const isShown = (delta: ModelDelta): boolean =>
    isWithheld ? isArgument(delta, tools) : delta.type !== 'text' || snapshot.replyFormat !== 'json';
  return (attempt, eventId) => {
    const activity = streamingActivity(runtime, run, attempt, snapshot);
    if (activity === undefined) return undefined;
    const stream = new CallStream({ ...call, eventId, ...currentAttempt() }, (entry) => activity.publish(entry));
    stream.begin();
    return {
      add: (delta) => {
        if (isShown(delta)) stream.add(delta);
      },
      end: () => stream.end(),
    };
  };
}

/**
 * True for a piece of a tool's arguments. Text may be the answer, reasoning may draft it, and calls without a tool (the final answer, and
 * code, which may return one) may contain it.
 */
function isArgument(delta: ModelDelta, tools: ReadonlySet<string>): boolean {
  return delta.type === 'tool_input' && tools.has(delta.toolName);
}

/** The time for which pieces are collected after a published one, in milliseconds. */
const COLLECT_MS = 4;

/** The maximum characters of a published piece: at most 30 kB of JSON, in any script. */
const MOST_CHARS = 5_000;

/** A single piece of this length or more is dropped: no model writes as much at once. */
const TOO_LONG = 500_000;

/**
 * Publishes the deltas of one attempt of a model call, in order. Pieces that follow within milliseconds are joined, and long ones are
 * split, so that the sink gets few entries and no large ones.
 */
export class CallStream {
  readonly #of: StreamedAttempt;
  readonly #publish: (entry: StreamEntry) => void;
  #index = 0;
  #waiting: ModelDelta | undefined;
  #timer: NodeJS.Timeout | undefined;
  #publishedAt = -Infinity;
  #isEnded = false;

  constructor(of: StreamedAttempt, publish: (entry: StreamEntry) => void) {
    this.#of = of;
    this.#publish = publish;
  }

  /** Announces the attempt, or its next model, which discards earlier output. */
  begin(): void {
    this.#publish({ type: 'attempt', of: this.#of });
  }

  /** Publishes a piece, at once or within milliseconds. */
  add(delta: ModelDelta): void {
    if (this.#isEnded) return;
    // Readers could not know which call it belongs to.
    if (delta.type === 'tool_input' && (delta.callId === '' || delta.toolName === '')) return;
    const joined = this.#waiting === undefined ? undefined : joinedDelta(this.#waiting, delta);
    if (joined === undefined) this.#flush();
    this.#waiting = joined ?? delta;
    if (performance.now() - this.#publishedAt >= COLLECT_MS) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS);
  }

  /** Publishes pending pieces. Later pieces are ignored. */
  end(): void {
    this.#flush();
    this.#isEnded = true;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const delta = this.#waiting;
    if (delta === undefined) return;
    this.#waiting = undefined;
    this.#publishedAt = performance.now();
    if (delta.text.length > TOO_LONG) this.#index += 1;
    else
      for (const text of splitText(delta.text))
        this.#publish({ type: 'delta', of: this.#of, index: this.#index++, delta: { ...delta, text } });
  }
}

/** Returns two pieces as one; undefined if they belong to different parts of the answer, or are too long together. */
function joinedDelta(one: ModelDelta, other: ModelDelta): ModelDelta | undefined {
  if (one.type !== other.type || one.text.length + other.text.length > MOST_CHARS) return undefined;
  if (one.type === 'tool_input' && other.type === 'tool_input' && (one.callId !== other.callId || one.toolName !== other.toolName))
    return undefined;
  return { ...one, text: one.text + other.text };
}

/** Splits a text, but not within a surrogate pair. */
function splitText(text: string): string[] {
  const split: string[] = [];
  let from = 0;
  while (text.length - from > MOST_CHARS) {
    const to = from + MOST_CHARS - (isHighSurrogate(text.charCodeAt(from + MOST_CHARS - 1)) ? 1 : 0);
    split.push(text.slice(from, to));
    from = to;
  }
  return [...split, text.slice(from)];
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** The maximum characters of the name of data, and the maximum bytes of its JSON. */
const MAX_NAME_LENGTH = 100;
const MAX_BYTES = 32_000;

/** Publishes the data that one attempt of a tool call emits. None of it enters history. */
export class ToolStream {
  readonly #runtime: ActivityRuntime;
  readonly #callId: string;
  /** Absent if the run has no readers. */
  readonly #activity: ActivityOfStream | undefined;
  readonly #of: StreamedAttempt;
  #index = 0;
  #isEnded = false;

  constructor(runtime: ActivityRuntime, input: RunToolInput, attempt: Pick<Attempt, 'stream'>) {
    const { eventId, callId, at } = input;
    this.#runtime = runtime;
    this.#callId = callId;
    this.#activity = streamingActivity(runtime, input, attempt);
    this.#of = { eventId, callId, through: at[0] + 1, ...currentAttempt() };
  }

  /** Publishes data. Throws a TypeError for data that cannot be carried, even if the worker has no sink. */
  emit(name: string, data: JsonValue): void {
    if (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME_LENGTH)
      throw new TypeError(`emit: the name of the data must be a text of 1 to ${MAX_NAME_LENGTH} characters`);
    const recordable = recordableJson(data, 'the data');
    if ('problem' in recordable) throw new TypeError(`emit: the data "${name}" is not JSON: ${recordable.problem}`);
    const plain = recordable.value;
    if (plain === undefined) throw new TypeError(`emit: the data "${name}" is undefined: emit null`);
    const bytes = jsonBytes(plain);
    if (bytes > MAX_BYTES) throw new TypeError(`emit: the data "${name}" is ${bytes} bytes of JSON, over ${MAX_BYTES}: emit a part of it`);
    if (this.#isEnded || this.#activity === undefined) return;
    const { secrets } = this.#runtime;
    const redacted = secrets.redactJson(plain);
    const delta = { type: 'data' as const, callId: this.#callId, name: secrets.redact(name.toWellFormed()), data: redacted };
    this.#activity.publish({ type: 'delta', of: this.#of, index: this.#index++, delta });
  }

  /** Ends the stream with the attempt: the result replaces everything emitted. */
  end(): void {
    this.#isEnded = true;
  }
}

/** Publishes entries for an attempt's run. */
interface ActivityOfStream {
  publish(entry: StreamEntry): void;
}

/** Returns the fields that identify the current attempt. */
function currentAttempt(): Pick<StreamedAttempt, 'executionId' | 'activity' | 'attempt'> {
  const { workflowExecution, activityId } = activityInfo();
  // The SDK numbers the activities of an execution.
  return { executionId: workflowExecution?.runId ?? '', activity: Number(activityId) || 0, attempt: attemptNumber() };
}

/**
 * Returns the stream of the run of the current activity; undefined if the worker has no sink. Runs inside a user's workflow are not
 * streamed, because a handle cannot read their record. `snapshot`: the agent of the run, if the activity knows it.
 */
function streamingActivity(
  { streams }: Pick<ActivityRuntime, 'streams'>,
  run: OfRun,
  attempt: Pick<Attempt, 'stream'>,
  snapshot?: AgentSnapshot,
): ActivityOfStream | undefined {
  const { workflowExecution } = activityInfo();
  if (streams === undefined || run.run !== undefined || workflowExecution === undefined) return undefined;
  const { workflowId } = workflowExecution;
  const publish = (entry: StreamEntry, live: boolean): void =>
    streams.publish(workflowId, entry, { live, heartbeat: (details) => attempt.stream(details) });
  const key = executionKey();
  if (snapshot !== undefined) streams.live.set(key, snapshot.live === true);
  // A local call has no heartbeats, and its run answers no query meanwhile.
  const isLive = !streams.usesHeartbeats || attemptInfo().isLocal ? false : streams.live.get(key);
  if (isLive !== undefined) return { publish: (entry) => publish(entry, isLive) };
  let asked: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    const live = (await queryRun<AgentSnapshot>(run, QUERIES.snapshot, null)).live === true;
    streams.live.set(key, live);
    return live;
  };
  return {
    publish: (entry) => {
      asked ??= ask().catch(() => false);
      // Each entry waits for the answer, so they keep their order.
      void asked.then((live) => publish(entry, live));
    },
  };
}
