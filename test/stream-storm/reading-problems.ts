import { fold, newView, type StreamItem, type StreamView, type RunHandle } from '../../src/client/index.ts';
import type { Event } from '../../src/core/domain/record.ts';
import type { StepResult } from '../../src/core/domain/tool-calls.ts';
import { difference } from '../crash/checks.ts';

/** The record of a run, as JSON. */
export interface RecordedRun {
  events: readonly Event[];
  steps: readonly StepResult[];
  /** The result without its steps. */
  result: unknown;
}

/** The differences between the items that a reader has got of a run, from beginning to end, and the record. */
export function readingProblems(items: readonly StreamItem[], recorded: RecordedRun): string[] {
  const view = items.reduce(fold, newView());
  return [
    ...endProblems(items),
    ...differing('the events', recorded.events.map(withoutId), view.events.map(withoutId)),
    ...differing('the steps', recorded.steps, view.steps),
    ...differing('the result', recorded.result, view.result),
    ...cursorProblems(items),
    ...offsetProblems(items),
    ...outputProblems(items),
  ];
}

function endProblems(items: readonly StreamItem[]): string[] {
  const ends = items.filter(({ type }) => type === 'end').length;
  if (ends !== 1) return [`it has ${ends} ends`];
  return items.at(-1)?.type === 'end' ? [] : ['items come after its end'];
}

/** Events without their ids: history does not name those that the workflow has made. */
function withoutId({ id: _, ...event }: Event): object {
  return event;
}

function differing(what: string, expected: unknown, actual: unknown): string[] {
  const found = difference(sorted(expected), sorted(actual));
  return found === undefined ? [] : [`${what} differ from what is recorded: ${found}`];
}

/** The same JSON with its members in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value ?? null;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, member]) => [name, sorted(member)]));
}

function cursorProblems(items: readonly StreamItem[]): string[] {
  const different = new Set(items.map(({ cursor }) => cursor)).size;
  return different === items.length ? [] : [`${items.length} items have ${different} cursors`];
}

/** `fold` appends every event: a duplicate and a missing event could make up for each other. */
function offsetProblems(items: readonly StreamItem[]): string[] {
  const offsets = items.flatMap((item) => (item.type === 'event' ? [item.offset] : []));
  const wrong = offsets.findIndex((offset, index) => offset !== index);
  return wrong === -1 ? [] : [`event ${wrong} has offset ${offsets[wrong]}`];
}

/**
 * Live output that its event does not confirm, that comes after its event, or that stays. The end of a failed run discards the output of
 * its last call.
 */
function outputProblems(items: readonly StreamItem[]): string[] {
  const problems: string[] = [];
  const replaced = new Set<string>();
  /** The output that neither an event nor a reset has replaced, with the call of a tool that it belongs to: `fold` drops what a later answer makes obsolete. */
  const open = new Map<string, string | undefined>();
  let view: StreamView = newView();
  for (const [index, item] of items.entries()) {
    if (item.type === 'event') problems.push(...unconfirmed(view, item.event).map((problem) => `item ${index}: ${problem}`));
    if (item.type === 'delta' && replaced.has(nameOf(item))) problems.push(`item ${index} is a delta beside its event`);
    if (item.type === 'end' && item.result.status === 'completed' && open.size > 0)
      problems.push(`output stays until the end: ${[...open.keys()].join(', ')}`);
    if (item.type === 'delta') open.set(nameOf(item), item.callId);
    if (item.type === 'reset')
      for (const [name, callId] of open) if (item.offset !== undefined || item.callId === callId) open.delete(name);
    if (item.type === 'event')
      for (const name of replacedBy(item.event)) {
        replaced.add(name);
        open.delete(name);
      }
    view = fold(view, item);
  }
  return problems;
}

/** The call whose output a delta is part of, as `replacedBy` names it. */
function nameOf({ delta, eventId }: StreamItem & { type: 'delta' }): string {
  return delta.type === 'data' ? delta.callId : eventId;
}

/** The arrived text of a call is a prefix of the text of its event. */
function unconfirmed({ live }: StreamView, { id, content }: Event): string[] {
  const output = live.find((one) => one.eventId === id);
  if (output === undefined || output.isIncomplete) return [];
  const text = content.flatMap((item) => (item.type === 'message' && typeof item.content === 'string' ? [item.content] : [])).join('');
  return text.startsWith(output.text) ? [] : [`the output "${output.text}" became the answer "${text}"`];
}

/** The calls whose output an event replaces: the model call by the id of the event, tools by their call ids. */
function replacedBy({ id, content }: Event): string[] {
  return [id, ...content.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : []))];
}

/** Reads the record of an ended run. */
export async function recordOf(run: Pick<RunHandle<unknown>, 'result' | 'events'>): Promise<RecordedRun> {
  const json = (await run.result({ steps: true, timeout: '60s' })).toJSON();
  // A result computes these from its other members, and a stream has only those.
  const { steps = [], success: _, outputText: __, mediaTypes: ___, hasMedia: ____, maxIterations: _____, ...result } = json;
  return { events: await Array.fromAsync(run.events()), steps, result };
}
