import assert from 'node:assert/strict';
import { decider } from '../core/domain/approvals.ts';
import { type ContentItem, outputText } from '../core/domain/content.ts';
import { defined, type JsonValue } from '../core/domain/json.ts';
import type { ModelRequest } from '../core/domain/model.ts';
import { partLines, withoutStamps } from '../core/domain/parts.ts';
import type { Event } from '../core/domain/record.ts';
import type { RunResult, RunResultFields } from '../core/domain/result.ts';
import { namedNotes } from '../core/domain/notes.ts';
import { resultText, type StepResult } from '../core/domain/tool-calls.ts';
import type { TestedRun } from './tested-run.ts';

/** An expected line of a timeline: its whole text, or a pattern that it must match. */
export type ExpectedLine = string | RegExp;

/** Throws an AssertionError with both timelines unless the run's timeline has exactly these lines: see `timelineOf`. */
export function assertTimeline(run: { events: readonly Event[] }, expected: readonly ExpectedLine[]): void {
  const actual = timelineOf(run);
  // A line that matches its pattern is compared with itself, so that the difference shows only the other lines.
  const wanted = expected.map((pattern, index) => {
    const line = actual[index] ?? '';
    return typeof pattern === 'string' ? pattern : pattern.test(line) ? line : String(pattern);
  });
  assert.deepEqual(actual, wanted, differenceOf(actual, wanted));
}

/**
 * Throws an AssertionError with the request unless the `number`-th request (1-based) contains the text, in its
 * instructions or its conversation.
 */
export function assertRequest({ requests }: { requests: readonly ModelRequest[] }, number: number, says: string | RegExp): void {
  const request = requests[number - 1];
  if (request === undefined)
    throw new assert.AssertionError({ message: `There is no request ${number}: the model received ${requests.length}` });
  const text = requestText(request);
  const matches = typeof says === 'string' ? text.includes(says) : says.test(text);
  if (!matches)
    throw new assert.AssertionError({
      message: `Request ${number} does not say ${String(says)}. It says:\n${text}`,
      stackStartFn: assertRequest,
    });
}

/**
 * Throws an AssertionError with the difference unless events, steps, result and deps of both runs are the same,
 * except for ids and times. Compares a run with a fault to the same run without.
 */
export function assertSameRun(actual: ComparedRun, expected: ComparedRun): void {
  const [one, other] = [withoutIdsAndTimes(actual), withoutIdsAndTimes(expected)];
  assert.deepEqual(
    timelineOf(actual),
    timelineOf(expected),
    `The runs have different timelines.\n${differenceOf(timelineOf(actual), timelineOf(expected))}`,
  );
  for (const part of ['events', 'steps', 'result', 'deps'] as const) assert.deepEqual(one[part], other[part]);
}

/** Returns both timelines, line by line: `-` marks expected lines, `+` actual ones. */
function differenceOf(actual: readonly string[], expected: readonly string[]): string {
  const lines: string[] = ['The timeline is not the expected one (- expected, + actual):'];
  for (let index = 0; index < Math.max(actual.length, expected.length); index += 1) {
    if (actual[index] === expected[index]) lines.push(`  ${actual[index]}`);
    else {
      if (expected[index] !== undefined) lines.push(`- ${expected[index]}`);
      if (actual[index] !== undefined) lines.push(`+ ${actual[index]}`);
    }
  }
  return lines.join('\n');
}

function requestText({ instructions, conversation }: ModelRequest): string {
  const messages = conversation.flatMap(({ author, content }) =>
    content.flatMap((item) => {
      if (item.type === 'message') return [`${author}: ${outputText(item.content)}`];
      if (item.type === 'tool_call') return [`${author} calls ${item.name} ${JSON.stringify(item.arguments)}`];
      return [`${item.name}: ${resultText(item.content)}`, ...namedNotes(item)];
    }),
  );
  return [...instructions, ...messages].join('\n');
}

/**
 * Returns the record of a run as lines, one for each event: `user: Where is order 42?`, `clerk calls look_up
 * {"order":42}`, `look_up: on its way`, `look_up failed: no such order`, `ann approves refund`. A note to the model about a call is a
 * line after its result: `note on look_up: as of today`.
 */
export function timelineOf({ events }: { events: readonly Event[] }): string[] {
  return events.flatMap((event) => [...event.content.flatMap((item) => itemLines(event, item)), ...headlines(event)]);
}

function itemLines({ author, interrupted, compaction }: Event, item: ContentItem): string[] {
  switch (item.type) {
    case 'message':
      return [
        `${author}: ${outputText(item.content)}${interrupted ? ' (interrupted)' : ''}${compaction === undefined ? '' : ' (a summary)'}`,
      ];
    case 'tool_call':
      return [`${author} calls ${item.name} ${JSON.stringify(item.arguments)}`];
    case 'tool_result':
      return [
        `${item.name}${item.status === 'error' ? ' failed' : ''}: ${resultText(item.content)}`,
        ...(item.notes ?? []).map((note) => `note on ${item.name}: ${note}`),
      ];
  }
}

function headlines({
  author,
  content,
  decision,
  refused,
  raised,
  failed,
  interrupted,
  compaction,
  contextUpdates,
  memory,
  ...event
}: Event): string[] {
  const lines: string[] = [];
  if (decision !== undefined) {
    const { type, toolName, reason } = decision;
    lines.push(`${decider(decision)} ${VERBS[type]} ${toolName}${reason === undefined ? '' : `: ${reason}`}`);
  }
  if (refused !== undefined) lines.push(`${refused.request} of ${author} is refused: ${refused.message}`);
  lines.push(...partLines(author, event));
  if (raised !== undefined) lines.push(`${author} raises ${JSON.stringify(raised.limits)}`);
  if (failed !== undefined) lines.push(`a model call failed: ${failed.code}`);
  if (interrupted && content.length === 0) lines.push(`${author}: (interrupted)`);
  if (compaction?.evicted !== undefined) lines.push(`${compaction.evicted.length} old results are removed from the window`);
  if (compaction?.dropped !== undefined) lines.push('what was recalled is removed from the window');
  if (memory !== undefined && 'unavailable' in memory) lines.push(`the memory is not available: ${memory.unavailable}`);
  for (const { operations } of contextUpdates ?? []) for (const { op, key } of operations) lines.push(`deps: ${op} ${key}`);
  return lines;
}

const VERBS = { approve: 'approves', reject: 'rejects', respond: 'answers' } as const;

/** A run without the parts that differ between two equal runs: plain JSON, to be compared. */
export interface ComparableRun {
  /** The result of the run. */
  result: JsonValue;
  /** Its events. */
  events: JsonValue;
  /** Its steps. */
  steps: JsonValue;
  /** Its deps at the end. */
  deps: JsonValue;
}

/** A run that `assertSameRun` compares. */
export type ComparedRun = Pick<TestedRun, 'events' | 'steps' | 'deps'> & { result: RunResult<unknown> };

/**
 * Returns a run without ids, times, durations, and digests that are made from ids. The results of two runs with the
 * same course are equal.
 */
export function withoutIdsAndTimes({ result, events, steps, deps }: ComparedRun): ComparableRun {
  const { runId } = result;
  const plain = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value ?? null).replaceAll(runId, 'the run')) as JsonValue;
  return { result: plain(timeless(result)), events: plain(events.map(bareEvent)), steps: plain(steps.map(bareStep)), deps: plain(deps) };
}

function timeless(result: RunResult<unknown>): Partial<RunResultFields<unknown>> {
  const { steps: _, runId: __, ...rest } = result.toJSON();
  return { ...rest, startTime: null, endTime: null, durationSeconds: null };
}

function bareEvent({ id: _, executionId: __, timestamp: ___, decision, refused, raised, ...event }: Event): object {
  return {
    ...event,
    ...withoutStamps(event),
    ...(decision === undefined ? {} : { decision: { ...decision, id: '', at: '', digest: '' } }),
    ...(refused === undefined ? {} : { refused: { ...refused, id: '' } }),
    ...(raised === undefined ? {} : { raised: { ...raised, id: '', at: '' } }),
  };
}

/** The random end of the run id of an agent that a call has started. */
const RANDOM_END = /\.[0-9a-f]{8}(?=\/|$)/g;

/** Returns a step without times. A call that has started keeps a duration of 0, one that has not keeps null. */
function bareStep({ toolCalls, ...step }: StepResult): object {
  const bare = toolCalls.map(({ timestamp: _, durationMs, childRunId, ...call }) => ({
    ...call,
    durationMs: durationMs === null ? null : 0,
    ...defined({ childRunId: childRunId?.replaceAll(RANDOM_END, '') }),
  }));
  return { ...step, toolCalls: bare };
}
