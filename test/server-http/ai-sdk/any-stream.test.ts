import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { TurnEncoder } from '../../../src/server/protocols/ai-sdk/turn-encoder.ts';
import { eventsOf, expectedParts, itemsOf, steps, streamings } from './generated-turn.ts';
import { built, encoded, guarded, partsOf } from './recorded-turn.ts';
import { propertyRuns } from '../../property-runs.ts';

/** Reasoning is only live: the record has none. */
function withoutReasoning(parts: unknown[]): unknown[] {
  return parts.filter((part) => (part as { type: string }).type !== 'reasoning');
}

it('the message that the AI SDK builds equals the record, whatever was discarded, lost or streamed twice', async () => {
  await fc.assert(
    fc.asyncProperty(steps, streamings, async (all, ways) => {
      const live = await built(encoded(itemsOf(all, ways)));
      const replayed = await built(encoded(eventsOf(all)));
      expect(partsOf(replayed.message)).toEqual(expectedParts(all));
      expect(withoutReasoning(partsOf(live.message))).toEqual(expectedParts(all));
      expect(live.message?.id).toBe(replayed.message?.id);
      expect([...live.errors, ...replayed.errors]).toEqual([]);
    }),
    { numRuns: propertyRuns(300) },
  );
}, 60_000);

it('the message of an agent whose answers are held back is the same, with only the texts of whole answers', async () => {
  await fc.assert(
    fc.asyncProperty(steps, streamings, async (all, ways) => {
      const { message, errors } = await built(encoded(guarded(itemsOf(all, ways))));
      const whole = all.map((step) => (step.isInterrupted ? { ...step, text: '' } : step));
      expect(withoutReasoning(partsOf(message))).toEqual(expectedParts(whole));
      expect(errors).toEqual([]);
    }),
    { numRuns: propertyRuns(300) },
  );
}, 60_000);

it('text is sent once: the pieces of all texts that are not discarded are the texts of the record', () => {
  fc.assert(
    fc.property(steps, streamings, (all, ways) => {
      const texts: string[] = [];
      let open = '';
      for (const chunk of encoded(itemsOf(all, ways))) {
        if (chunk.type === 'text-start' || chunk.type === 'reset-step') open = '';
        if (chunk.type === 'text-delta') open += chunk.delta;
        if (chunk.type === 'text-end') texts.push(open);
      }
      expect(texts).toEqual(all.flatMap(({ text }) => (text === '' ? [] : [text])));
    }),
    { numRuns: propertyRuns(300) },
  );
});

it('a client that was asked for decisions continues its message to the same end', async () => {
  await fc.assert(
    fc.asyncProperty(steps, streamings, fc.nat(), fc.boolean(), async (all, ways, pick, again) => {
      const items = itemsOf(all, ways);
      const asking = items.filter((one) => one.type === 'event' && one.event.content.some(({ type }) => type === 'tool_call'));
      const response = asking[pick % Math.max(1, asking.length)];
      if (response?.type !== 'event') return;
      const [first] = response.event.content.flatMap((one) => (one.type === 'tool_call' ? [one] : []));
      const encoder = new TurnEncoder({ sessionId: 'chat-1', turn: 1 });
      const before = items.slice(0, items.indexOf(response) + 1).flatMap((one) => [...encoder.take(one)]);
      const pending = { kind: 'tool', callId: first?.toolCallId ?? '', toolName: 'search', digest: 'x', key: 'k', step: 1 } as const;
      const request = encoder.ask([{ ...pending, requestedAt: '2026-11-26T10:00:00.000Z', arguments: {} }]);
      const shown = await built([encoder.begin(), ...before, ...request]);
      const continued = await built(encoded(again ? items : eventsOf(all), { after: response.offset }), shown.message);
      expect(continued.errors).toEqual([]);
      const whole = withoutReasoning(partsOf(continued.message));
      expect(whole.map(withoutDescriptor)).toEqual(expectedParts(all).map(withoutDescriptor));
    }),
    { numRuns: propertyRuns(300) },
  );
}, 60_000);

/** The approval of an undecided call stays in the state "requested". */
function withoutDescriptor(part: unknown): unknown {
  const { approval: _, ...rest } = part as { approval?: unknown };
  return rest;
}
