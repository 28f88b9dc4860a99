import { difference, HOW_LOST, type PlainRecord, plainRecord, withoutHowLost } from '../checks.ts';
import { activityPoint, isCallInside, isStored, queryPoint, executionName } from '../points/points.ts';
import { runApproved, type RunRecord } from '../runs/run-approved.ts';
import { AGENT, BURSTING } from './reference-agent.ts';
import { DEPS, REFUND, answerOf, ONCE, SCRIPT, EFFECTS, effectOf } from './reference-script.ts';
import type { Subject, Hit } from '../subject.ts';
import { unless } from '../../processes/command.ts';
import type { Effect } from '../processes/ledger.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import { notHappened, type StepResult, unknownOutcome } from '../../../src/core/domain/tool-calls.ts';
import type { Pass } from '../processes/crash-testbed.ts';

/** The timeout of these activities does not depend on the heartbeats of the testbed. The second queries the run for its data. */
const NOTICED_LATE = ['resolveAgent', 'notifyWaiting s6', 'authorizeDecision s6'];

const runOf =
  (agent: string): Subject<RunRecord, PlainRecord>['run'] =>
  (testbed, runId, disturbance) =>
    runApproved(testbed, { runId, input: { agent, input: 'Please see to the order', deps: DEPS }, callId: REFUND }, disturbance);

/** The run of an agent. */
export const agentSubject: Subject<RunRecord, PlainRecord> = {
  name: 'agent',
  eventsOfExecution: 75,
  heartbeatMs: 400,
  run: runOf(AGENT),
  plain: plainRecord,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) =>
    point === queryPoint('data') ||
    NOTICED_LATE.some((name) => point === activityPoint('before', name) || point === activityPoint('after', name)),
  sample: (points) => [...points],
};

/** The same run in bursts: each call inside a burst, and each checkpoint, is a point. */
export const burstSubject: Subject<RunRecord, PlainRecord> = {
  ...agentSubject,
  name: 'burst',
  eventsOfExecution: 48,
  run: runOf(BURSTING),
  // Whether something is stored only at the end of a burst, or by a heartbeat that was due, depends on the time of the burst.
  sample: (points) => points.filter((point, index) => !isStored(point) || isCallInside(points[index + 1])),
};

/** The problems with the undisturbed run, the reference for all others. */
export function undisturbedProblems(record: RunRecord): string[] {
  const { result, executions, kills } = record;
  const everything = answerOf(SCRIPT.flat().map(({ id }) => ({ toolCallId: String(id), status: 'success' })));
  return [
    ...unless(result.status === 'completed', `it ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ...unless(result.stepsUsed === SCRIPT.length + 1, `it took ${result.stepsUsed} steps`),
    ...unless(difference(everything, result.output) === undefined, `it answered ${JSON.stringify(result.output)}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...waitProblems(record),
    ...effectProblems(record.effects, new Map()),
  ];
}

/** The problems with a run that was hit at a point. */
export function pointProblems(undisturbed: PlainRecord, { pass, point }: Hit, record: RunRecord): string[] {
  return [
    ...unless(record.kills === 1, `the ${pass} was killed ${record.kills} times, where it should die once, at this point`),
    ...recordProblems(undisturbed, record, unclearAt(pass, point)),
  ];
}

/** The problems with a run that was hit at random: every unclear call must have been given up by the server. */
export function randomProblems(undisturbed: PlainRecord, record: RunRecord): string[] {
  const unclear = new Map(
    Object.entries(ONCE).flatMap(([callId, { tool, verify }]): [string, Unclear][] => {
      const text = resultOf(record, callId);
      const told = (verify ? (['not happened', 'unknown'] as const) : (['unknown'] as const)).find((one) => text === textOf(one, tool));
      return told === undefined ? [] : [[callId, told]];
    }),
  );
  const lost = [...unclear.keys()].map((callId) => Object.entries(ONCE).find(([id]) => id === callId)?.[1].tool ?? '');
  return [
    ...lost.flatMap((tool) => unless(record.timedOut.includes(tool), `"${tool}" is unclear, and the server had not given it up`)),
    ...recordProblems(undisturbed, record, unclear),
  ];
}

function recordProblems(undisturbed: PlainRecord, record: RunRecord, unclear: UnclearCalls): string[] {
  const expected = expectedRecord(undisturbed, unclear);
  const actual = plainRecord(record);
  const events = difference(expected.events, actual.events);
  const result = difference(expected.result, actual.result);
  return [
    ...(events === undefined ? [] : [`the events are others:\n${events}`]),
    ...(result === undefined ? [] : [`the result is another:\n${result}`]),
    ...waitProblems(record),
    ...effectProblems(record.effects, unclear),
  ];
}

function waitProblems({ waiting: { status, waitingFor } }: RunRecord): string[] {
  const isTrue = status === 'pending_confirmation' && waitingFor.join(', ') === 'refund';
  return unless(
    isTrue,
    `while it waited for the approval, it said that it is ${status} and waits for: ${waitingFor.join(', ') || 'nothing'}`,
  );
}

/** The text that the model read as the result of a call. */
function resultOf({ events }: RunRecord, callId: string): unknown {
  const results = events.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result');
  const text = results.find(({ toolCallId }) => toolCallId === callId)?.content[0];
  return typeof text === 'string' ? withoutHowLost(text) : text;
}

/**
 * The problems with the effects of a run: each effect must have happened once, and a call with effect `once` must have acted
 * once.
 */
function effectProblems(effects: readonly Effect[], unclear: UnclearCalls): string[] {
  const once = new Map(Object.entries(ONCE).map(([callId, { tool }]) => [effectOf(tool, callId), unclear.get(callId)]));
  const problems = EFFECTS.flatMap((effect) => {
    const own = effects.filter((one) => one.effect === effect);
    const keys = own.length;
    const acts = own.reduce((sum, one) => sum + one.acts, 0);
    if (keys > 1) return [`"${effect}" was done with ${keys} idempotency keys: ${own.map(({ key }) => key).join(', ')}`];
    if (once.has(effect) && acts > 1) return [`"${effect}" happens once, and was done ${acts} times`];
    switch (once.get(effect)) {
      case 'unknown':
        return [];
      case 'not happened':
        return keys === 0 ? [] : [`"${effect}" was done, and the model was told that it was not`];
      case undefined:
        return keys === 1 ? [] : [`"${effect}" was not done`];
    }
  });
  const strangers = effects.filter(({ effect }) => !EFFECTS.includes(effect));
  return [...problems, ...strangers.map(({ effect }) => `"${effect}" was done without a call`)];
}

/** The result text of a call with effect `once` whose answer was lost. */
type Unclear =
  /** The outcome is unknown. */
  | 'unknown'
  /** Its tool has verified that it had no effect. */
  | 'not happened';

/** The unclear calls, by their id. */
type UnclearCalls = ReadonlyMap<string, Unclear>;

const NONE: UnclearCalls = new Map();

/**
 * The calls that are unclear if the victim dies at a point. If the worker dies during a call with effect `once`, the answer of
 * the call is lost. If the server dies, the worker still has the answer, and reports it.
 */
function unclearAt(pass: Pass, point: string): UnclearCalls {
  if (pass === 'server') return NONE;
  for (const [callId, { tool, verify }] of Object.entries(ONCE)) {
    const execution = executionName(tool, { callId });
    if (point === activityPoint('before', execution)) return new Map([[callId, verify ? 'not happened' : 'unknown']]);
    // A call that can be verified has had its effect, and so has its usual result.
    if (point === activityPoint('after', execution)) return verify ? NONE : new Map([[callId, 'unknown']]);
  }
  return NONE;
}

/** The record of a run where these calls are unclear, derived from the record of an undisturbed run. */
function expectedRecord({ result, events }: PlainRecord, unclear: UnclearCalls): PlainRecord {
  if (unclear.size === 0) return { result, events };
  const told = events.map((event) => ({ ...event, content: event.content.map((item) => toldOf(item, unclear)) }));
  const results = told.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result');
  const output = answerOf(results);
  const text = JSON.stringify(output);
  return { events: answering(told, text), result: { ...result, output, outputText: text, ...stepsOf(result, unclear, text) } };
}

/** The text that the model reads as the result of a call. */
function textOf(unclear: Unclear, tool: string): string {
  return unclear === 'unknown' ? unknownOutcome(tool, HOW_LOST) : notHappened(tool);
}

function toldOf(item: ContentItem, unclear: UnclearCalls): ContentItem {
  const what = item.type === 'tool_result' ? unclear.get(item.toolCallId) : undefined;
  if (item.type !== 'tool_result' || what === undefined) return item;
  return { ...item, status: 'error', content: [textOf(what, item.name)] };
}

/** The last event is the answer. */
function answering(events: Event[], text: string): Event[] {
  return events.map((event, index) =>
    index < events.length - 1 ? event : { ...event, content: [{ type: 'message', role: 'assistant', content: text }] },
  );
}

function stepsOf({ steps = [] }: RunResultJson<unknown>, unclear: UnclearCalls, text: string): { steps: StepResult[] } {
  const told = steps.map((step, index) => ({
    ...step,
    ...(index < steps.length - 1 ? {} : { thought: text }),
    toolCalls: step.toolCalls.map((call) => {
      const what = unclear.get(call.callId);
      return what === undefined ? call : { ...call, isError: true, result: textOf(what, call.toolName) };
    }),
  }));
  return { steps: told };
}
