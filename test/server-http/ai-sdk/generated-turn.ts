import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { StreamItem } from '../../../src/client/index.ts';
import { asks, call, decided, ended, item, piece, recorded, result, says } from './recorded-turn.ts';

/** One step of a generated turn. */
interface Step {
  text: string;
  calls: number;
  /** The calls of the step wait for decisions, and the first one is rejected or not. */
  approval?: { rejected: boolean };
  isInterrupted: boolean;
}

/** How one answer streams. */
interface Streaming {
  /** The texts of attempts that fail, each without or with a reset after it. */
  failed: { text: string; isReset: boolean }[];
  /** The lengths of the pieces; 0 for a lost piece. */
  pieces: number[];
  reasoning: string;
  /** The arguments of calls stream, before the text or under other ids if so chosen. */
  inputs: 'none' | 'behind' | 'before' | 'renamed';
}

const text = fc.string({ maxLength: 8 });

/** A generated turn. */
export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record(
    {
      text,
      calls: fc.integer({ min: 0, max: 2 }),
      approval: fc.record({ rejected: fc.boolean() }),
      isInterrupted: fc.boolean(),
    },
    { requiredKeys: ['text', 'calls', 'isInterrupted'] },
  ),
  { minLength: 1, maxLength: 4 },
);

/** How the answers of a turn stream to one reader. */
export const streamings: fc.Arbitrary<Streaming[]> = fc.array(
  fc.record({
    failed: fc.array(fc.record({ text, isReset: fc.boolean() }), { maxLength: 2 }),
    pieces: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 5 }),
    reasoning: text,
    inputs: fc.constantFrom('none', 'behind', 'before', 'renamed'),
  }),
  { minLength: 4, maxLength: 4 },
);

const callIds = (step: Step, number: number): string[] =>
  step.isInterrupted ? [] : Array.from({ length: step.calls }, (_, index) => `call-${number}-${index}`);

/** Returns the events of a turn, in their order. */
export function eventsOf(all: readonly Step[]): (StreamItem & { type: 'event' })[] {
  const events = [asks(0, 'Hi')];
  for (const [number, step] of all.entries()) {
    const ids = callIds(step, number);
    const calls = ids.map((id) => call(id, { of: id }));
    const response = says(events.length, `answer-${number}`, step.text, ...calls);
    events.push(step.isInterrupted ? { ...response, event: { ...response.event, interrupted: true } } : response);
    if (ids.length === 0) continue;
    for (const [index, callId] of step.approval === undefined ? [] : ids.entries()) {
      const rejected = index === 0 && step.approval?.rejected === true;
      events.push(decided(events.length, { type: rejected ? 'reject' : 'approve', callId, toolName: 'search' }));
    }
    const results = ids.map((id, index) => result(id, [`found ${id}`], isRejected(step, index) ? 'error' : 'success'));
    events.push(recorded(events.length, `results-${number}`, results));
  }
  events.push(ended(events.length));
  return events;
}

function isRejected({ approval }: Step, index: number): boolean {
  return index === 0 && approval?.rejected === true;
}

/** Returns the items of a reader that joined before the turn: each answer streams before its event. */
export function itemsOf(all: readonly Step[], ways: readonly Streaming[]): StreamItem[] {
  return eventsOf(all).flatMap((event): StreamItem[] => {
    const number = all.findIndex((_, index) => event.event.id === `answer-${index}`);
    const [step, way] = [all[number], ways[number]];
    return step === undefined || way === undefined ? [event] : [...outputOf(step, number, way), event];
  });
}

function outputOf(step: Step, number: number, { failed, pieces, reasoning, inputs }: Streaming): StreamItem[] {
  const id = `answer-${number}`;
  const attempts = failed.flatMap(({ text: half, isReset }, attempt) => [
    piece(`${id}-${attempt}`, { type: 'text', text: half }, attempt + 1),
    ...(isReset ? [item({ type: 'reset', step: number + 1, attempt: attempt + 2 })] : []),
  ]);
  const thought = reasoning === '' ? [] : [piece(id, { type: 'reasoning', text: reasoning })];
  const calls =
    inputs === 'none' ? [] : callIds(step, number).flatMap((callId) => inputOf(id, inputs === 'renamed' ? `x-${callId}` : callId));
  const texts = textOf(id, step.text, pieces);
  return [...attempts, ...thought, ...(inputs === 'before' ? [...calls, ...texts] : [...texts, ...calls])];
}

function inputOf(id: string, callId: string): StreamItem[] {
  return ['{"of":', `"${callId}"}`].map((part) => piece(id, { type: 'tool_input', callId, toolName: 'search', text: part }));
}

function textOf(id: string, whole: string, pieces: readonly number[]): StreamItem[] {
  const items: StreamItem[] = [];
  let from = 0;
  for (const length of pieces) {
    if (length === 0) {
      // Two characters are lost, and the reader is notified.
      from += 2;
      items.push(item({ type: 'gap' }));
      continue;
    }
    items.push(piece(id, { type: 'text', text: whole.slice(from, from + length) }));
    from += length;
  }
  return items;
}

/** Returns the parts of the message that the record says, in the form of the AI SDK. */
export function expectedParts(all: readonly Step[]): unknown[] {
  return all.flatMap((step, number) => [
    { type: 'step-start' },
    ...(step.text === '' ? [] : [{ type: 'text', text: step.text, state: 'done' }]),
    ...callIds(step, number).map((toolCallId, index) => {
      const rejected = isRejected(step, index);
      const outcome = rejected ? { state: 'output-denied' } : { state: 'output-available', output: `found ${toolCallId}` };
      const approval = step.approval === undefined ? {} : { approval: expectedApproval(!rejected) };
      return { type: 'tool-search', toolCallId, input: { of: toolCallId }, ...outcome, ...approval };
    }),
  ]);
}

function expectedApproval(approved: boolean): unknown {
  return { id: expect.any(String) as string, approved };
}
