import * as fc from 'fast-check';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import { ToldRun } from './served-run.ts';

/** One step of a generated run. Pieces are numbers of words. */
interface GeneratedStep {
  /** Discarded attempts, with what each has streamed. */
  failed: { reasoning: number; words: number }[];
  reasoning: number;
  words: number;
  /** The number of words that are streamed before the event; fewer if the sink has lost the rest. */
  live: number;
  /** The number of words before a gap. Later words do not arrive. */
  gapAfter: number | undefined;
  calls: number;
  /** Calls whose results come as errors. */
  hasErrors: boolean;
  interrupted: boolean;
  /** The event has another text than was streamed. */
  isRewritten: boolean;
}

const few = fc.integer({ min: 0, max: 3 });

const step: fc.Arbitrary<GeneratedStep> = fc.record({
  failed: fc.array(fc.record({ reasoning: few, words: few }), { maxLength: 2 }),
  reasoning: fc.constantFrom(0, 0, 2),
  words: few,
  live: few,
  gapAfter: fc.option(few, { nil: undefined }),
  calls: fc.integer({ min: 0, max: 2 }),
  hasErrors: fc.boolean(),
  interrupted: fc.boolean(),
  isRewritten: fc.constantFrom(false, false, false, true),
});

const ENDS = ['completed', 'other output', 'guardrail', 'limit', 'cancelled', 'cut off', 'refused'] as const;

/** Runs with all that a stream may show. */
export const generatedRun: fc.Arbitrary<ToldRun> = fc
  .record({ steps: fc.array(step, { minLength: 1, maxLength: 5 }), end: fc.constantFrom(...ENDS), isUnfinished: fc.boolean() })
  .map(({ steps, end, isUnfinished }) => {
    const run = new ToldRun();
    let text = '';
    // A refusal is another answer of the model.
    const count = end === 'refused' ? steps.length + 1 : steps.length;
    for (const [number, one] of steps.entries()) text = tell(run, number, one, number === count - 1);
    // The run may be cancelled in the middle of an answer, or of calls.
    const last = steps.at(-1);
    if (isUnfinished && end === 'cancelled' && !(last?.calls && last.hasErrors))
      run.reasoning('cut', 'Hm').delta('cut', 'Once ').delta('cut', 'upon');
    return ended(run, end, text);
  });

function tell(run: ToldRun, number: number, one: GeneratedStep, isLast: boolean): string {
  for (const [attempt, { reasoning, words }] of one.failed.entries()) {
    stream(run, `e${number}-${attempt}`, reasoning, wordsOf(number, attempt, words));
    run.reset();
  }
  const attempt = one.failed.length;
  const id = `e${number}-${attempt}`;
  const words = wordsOf(number, attempt, one.words);
  const before = one.gapAfter ?? words.length;
  stream(run, id, one.reasoning, words.slice(0, Math.min(one.live, before)));
  if (one.gapAfter !== undefined) {
    run.item({ type: 'gap' });
    stream(run, id, 0, words.slice(before + 1));
  }
  const text = one.isRewritten ? `Rewritten ${number}` : words.join('');
  const calls = Array.from({ length: one.calls }, (_, index) => ({ id: `c${number}-${index}`, name: 'search', arguments: { q: 'x' } }));
  run.answer(id, text, ...(one.interrupted ? [] : calls));
  if (one.interrupted) Object.assign(run.events.at(-1) ?? {}, { interrupted: true });
  else {
    // The results of calls come in any order, and the last one may be missing.
    const answered = calls.toReversed().slice(isLast && one.hasErrors ? 1 : 0);
    for (const { id: callId } of answered) run.toolResult(callId, 'found', one.hasErrors ? 'error' : 'success');
  }
  // Without calls, a run continues for a message alone.
  if (!isLast && one.calls === 0) run.event(`m${number}`, [{ type: 'message', role: 'user', content: 'More' }]);
  run.step();
  return text;
}

function ended(run: ToldRun, end: (typeof ENDS)[number], text: string): ToldRun {
  switch (end) {
    case 'completed':
      return run.end(text);
    case 'other output':
      return run.end({ urgency: 'high' });
    case 'guardrail':
      return run.end('Response blocked', { status: 'error', stopReason: 'guardrail', errorCode: 'guardrail_tripped' });
    case 'limit':
      return run.end(text, { status: 'max_iterations_reached', stopReason: 'step_limit' });
    case 'cancelled':
      return run.end(text, { status: 'cancelled', stopReason: 'cancelled' });
    case 'cut off':
      return run.step('length').end(text);
    case 'refused':
      run.delta('refused', 'I will ').delta('refused', 'not').answer('refused', '').step('refusal');
      return run.end(text, { status: 'error', stopReason: 'error', errorCode: 'model_refusal', error: 'Refused: I will not' });
  }
}

function wordsOf(number: number, attempt: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${number}.${attempt}.${index} `);
}

function stream(run: ToldRun, eventId: string, reasoning: number, words: readonly string[]): void {
  for (let index = 0; index < reasoning; index += 1) run.reasoning(eventId, `because ${index}; `);
  for (const word of words) run.delta(eventId, word);
}

/** The items that another process shows, whose sink has only kept what came at an index or later. */
export function shownLater(items: readonly StreamItem[], keptFrom: number): StreamItem[] {
  const isLive = ({ type }: StreamItem): boolean => type === 'delta' || type === 'reset' || type === 'gap';
  const dropped = new Set(items.slice(0, keptFrom).flatMap((item) => (item.type === 'delta' ? [item.eventId] : [])));
  const recorded = new Set(items.flatMap((item) => (item.type === 'event' ? [item.event.id] : [])));
  const shown = items.flatMap((item, index): StreamItem[] => {
    if (!isLive(item)) return [item];
    if (index < keptFrom) return [];
    // The reader is notified that the beginning of this answer is missing.
    const isCut = item.type === 'delta' && dropped.delete(item.eventId);
    return isCut ? [{ type: 'gap', cursor: '' }, item] : [item];
  });
  // Output that its event has replaced by then is no longer shown.
  return keptFrom === Infinity ? shown.filter((item) => item.type !== 'delta' || !recorded.has(item.eventId)) : shown;
}
