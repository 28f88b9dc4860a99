import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Event } from '../../../src/core/domain/record.ts';
import { outputText } from '../../../src/core/domain/content.ts';
import { type ChainedSession, chainedSession, type ContinueDue, plannedSession } from './generated-sessions.ts';

const NEVER: ContinueDue = () => false;

/** Continues as new at random points, over and over. */
const somewhere = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 });

function dueAt(points: boolean[]): ContinueDue {
  let index = 0;
  return () => points[index++ % points.length] ?? false;
}

/** Many sessions of many turns, on a machine that may be busy. */
const MANY_SESSIONS_MS = 120_000;

/** A session that waits forever is reported with its plan, instead of as a test that does not end. */
const BOUNDED: fc.Parameters<unknown> = { timeout: 15_000, interruptAfterTimeLimit: 90_000, markInterruptAsFailure: true };

/** Holds each of many generated sessions twice: in one execution, and continued as new. */
async function holds(property: (split: ChainedSession, whole: ChainedSession) => void): Promise<void> {
  await fc.assert(
    fc.asyncProperty(plannedSession, somewhere, async (plan, points) =>
      property(await chainedSession(plan, dueAt(points)), await chainedSession(plan, NEVER)),
    ),
    { ...BOUNDED, numRuns: 100 },
  );
}

function textsOf({ content }: Event): string[] {
  return content.flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
}

/** Returns the turns whose record has texts of the user. */
function turnsOfTexts(events: readonly Event[]): Map<string, number> {
  const turns = new Map<string, number>();
  let turn = 1;
  for (const event of events) {
    for (const text of textsOf(event)) turns.set(text, turn);
    if (event.turn !== undefined) turn = event.turn.number + 1;
  }
  return turns;
}

/** Returns the turn that answers a message by the receipt and by the results of the turns. */
function answering(turns: ChainedSession['turns'], id: string, named: number): number {
  const result = turns.find((one) => one.turn === named);
  return result?.unanswered?.includes(id) ? answering(turns, id, named + 1) : named;
}

describe('a session that continues as new at any point', { timeout: MANY_SESSIONS_MS }, () => {
  it('records the same events, and has the same turns and the same result', () =>
    holds((split, whole) => {
      expect(split.events).toEqual(whole.events);
      expect(split.turns).toEqual(whole.turns);
      const { steps: _, ...result } = split.result;
      const { steps: __, ...expected } = whole.result;
      expect(result).toEqual(expected);
    }));

  it('sends the same requests to the model, and starts the same tools', () =>
    holds(({ actors: split }, { actors: whole }) => {
      expect(split.requests).toEqual(whole.requests);
      expect(split.summaries).toEqual(whole.summaries);
      expect(split.started).toEqual(whole.started);
      expect(new Set(split.started).size).toBe(split.started.length);
    }));

  it('accepts and refuses the same requests, and records every accepted message once, in order', () =>
    holds((split, whole) => {
      expect(split.actors.accepted).toEqual(whole.actors.accepted);
      expect(split.actors.refusals).toEqual(whole.actors.refusals);
      const ids = split.actors.accepted.map(({ id }) => id);
      const said = split.events.flatMap(textsOf);
      expect(said.filter((text) => ids.includes(text))).toEqual(ids);
    }));

  it('numbers its turns from 1, ends each of them once, and begins none for nothing', () =>
    holds(({ events, turns, result }) => {
      const ends = events.flatMap(({ turn }) => (turn === undefined ? [] : [turn.number]));
      expect(ends).toEqual(ends.map((_, index) => index + 1));
      expect(turns.map(({ turn }) => turn)).toEqual(ends);
      expect(result.turns).toBe(ends.length);
    }));

  it('answers a message in the turn that its receipt names, or in the first after it that does not say otherwise', () =>
    holds(({ actors, events, turns }) => {
      const readIn = turnsOfTexts(events);
      for (const { id, turn } of actors.accepted) expect(readIn.get(id)).toBe(answering(turns, id, turn ?? 0));
    }));

  it('returns the same turn for a message that is resent', () =>
    holds(({ actors, turns }, whole) => {
      expect(actors.repeated).toEqual(whole.actors.repeated);
      for (const { id, turn, ended } of actors.repeated) {
        const named = actors.accepted.find((one) => one.id === id)?.turn ?? 0;
        expect(turn).toBe(answering(turns.slice(0, ended), id, named));
      }
    }));

  it('ends a turn that was interrupted as cancelled, also if its call fails meanwhile', () =>
    holds(({ actors, turns }) => {
      for (const number of actors.interrupted) expect(turns[number - 1]).toMatchObject({ turn: number, status: 'cancelled' });
    }));

  it('has the sum of its turns as its amounts, and the sum of its events as its usage', () =>
    holds(({ turns, result, events }) => {
      const sum = (read: (turn: ChainedSession['turns'][number]) => number): number => turns.reduce((total, turn) => total + read(turn), 0);
      expect(result.stepsUsed).toBe(sum(({ stepsUsed }) => stepsUsed));
      expect(result.toolCallsTotal).toBe(sum(({ toolCallsTotal }) => toolCallsTotal));
      expect(result.usage.llmCalls).toBe(sum(({ usage }) => usage.llmCalls));
      expect(result.usage.totalTokens).toBe(sum(({ usage }) => usage.totalTokens));
      const usages = events.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
      expect(result.usage.llmCalls).toBe(usages.length);
      expect(result.usage.totalTokens).toBe(usages.reduce((total, usage) => total + (usage?.totalTokens ?? 0), 0));
    }));

  it('is idle exactly between two turns', () =>
    holds(({ contradictions }) => {
      expect(contradictions).toEqual([]);
    }));
});

it(
  'the generated sessions continue as new at every kind of point, and their turns end in every way',
  { timeout: MANY_SESSIONS_MS },
  async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(plannedSession, somewhere, async (plan, points) => {
        const { positions, turns, events, actors, result } = await chainedSession(plan, dueAt(points));
        for (const { type } of positions) seen.add(`continued at ${type}`);
        for (const { status, unanswered } of turns) seen.add(`turn: ${status}${unanswered === undefined ? '' : ', with messages unread'}`);
        if (actors.repeated.length > 0) seen.add('sent again');
        for (const { compaction, raised } of events) {
          if (compaction?.summarized) seen.add('summarized');
          if (raised?.session) seen.add('raised');
        }
        for (const refusal of actors.refusals) seen.add(refusal);
        seen.add(result.stopReason);
      }),
      { ...BOUNDED, numRuns: 300, seed: 1 },
    );
    expect([...seen].toSorted()).toMatchInlineSnapshot(`
      [
        "cancelled",
        "closed",
        "continued at call_model",
        "continued at idle",
        "continued at run_tools",
        "raise: invalid_input",
        "raised",
        "send: session_limit",
        "sent again",
        "summarized",
        "turn: cancelled",
        "turn: cancelled, with messages unread",
        "turn: completed",
        "turn: error",
        "turn: error, with messages unread",
        "turn: max_iterations_reached",
        "turn: max_iterations_reached, with messages unread",
      ]
    `);
  },
);
