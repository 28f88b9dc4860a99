import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import { notHappened, type StepResult, unknownOutcome } from '../../../src/core/domain/tool-calls.ts';
import type { Pass } from '../pass.ts';
import type { PlainRecord } from './plain-record.ts';
import { activityPoint, executionName } from '../points/points.ts';
import { answerOf, ONCE } from '../reference/reference-script.ts';

/** The result text of a call with effect `once` whose answer was lost. */
export type Unclear =
  /** The outcome is unknown. */
  | 'unknown'
  /** Its tool has verified that it had no effect. */
  | 'not happened';

/** The unclear calls, by their id. */
export type UnclearCalls = ReadonlyMap<string, Unclear>;

const NONE: UnclearCalls = new Map();

/**
 * The calls that are unclear if the victim dies at a point. If the worker dies during a call with effect `once`, the answer of
 * the call is lost. If the server dies, the worker still has the answer, and reports it.
 */
export function unclearAt(pass: Pass, point: string): UnclearCalls {
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
export function expectedRecord({ result, events }: PlainRecord, unclear: UnclearCalls): PlainRecord {
  if (unclear.size === 0) return { result, events };
  const told = events.map((event) => ({ ...event, content: event.content.map((item) => toldOf(item, unclear)) }));
  const results = told.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result');
  const output = answerOf(results);
  const text = JSON.stringify(output);
  return { events: answering(told, text), result: { ...result, output, outputText: text, ...stepsOf(result, unclear, text) } };
}

/** The text that the model reads as the result of a call. */
export function textOf(unclear: Unclear, tool: string): string {
  return unclear === 'unknown' ? unknownOutcome(tool) : notHappened(tool);
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
