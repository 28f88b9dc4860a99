import * as fc from 'fast-check';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';

const text = fc.constantFrom('a', 'b', '');
const id = fc.constantFrom('c1', 'c2', 'c3');

/** One item of any kind: the item after it may make no sense. */
export const anyItem: fc.Arbitrary<ContentItem> = fc.oneof(
  fc.record({ type: fc.constant('message' as const), role: fc.constantFrom('system' as const, 'user', 'assistant'), content: text }),
  fc.record({ type: fc.constant('tool_call' as const), toolCallId: id, name: fc.constant('t'), arguments: fc.constant({}) }),
  fc.record({
    type: fc.constant('tool_result' as const),
    toolCallId: id,
    name: fc.constant('t'),
    status: fc.constantFrom('success' as const, 'error'),
    content: fc.constant<JsonValue[]>(['x']),
  }),
);

/** Something that is said to the model, or an answer of it: a text, calls, or both, and for each call whether it has a result. */
type Turn = { role: 'system' | 'user'; content: string } | { content: string | null; answered: boolean[] };

const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ role: fc.constantFrom('system' as const, 'user', 'user', 'user'), content: text }),
  fc.record({ content: fc.option(text), answered: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }) }),
  fc.record({ content: text, answered: fc.constant<boolean[]>([]) }),
);

/** A conversation as models have it: every result belongs to a call of the answer right before it. */
export const conversation: fc.Arbitrary<ContentItem[]> = fc.array(turn, { maxLength: 10 }).map((turns) => turns.flatMap(itemsOf));

function itemsOf(given: Turn, place: number): ContentItem[] {
  if ('role' in given) return [{ type: 'message', ...given }];
  const calls = given.answered.map((_, index) => ({ toolCallId: `c${place}-${index}`, name: 't' }));
  const results = calls.filter((_, index) => given.answered[index]);
  return [
    ...(given.content === null ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: given.content }]),
    ...calls.map((call) => ({ type: 'tool_call' as const, ...call, arguments: {} })),
    ...results.map((call) => ({ type: 'tool_result' as const, ...call, status: 'success' as const, content: ['x'] })),
  ];
}
