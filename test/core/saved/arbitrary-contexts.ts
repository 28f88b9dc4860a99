import * as fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import type { SavedContext, SavedMessage, SavedRole } from '../../../src/core/saved/saved-context.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const count = fc.nat({ max: 1_000_000 });
const time = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map((date) => date.toISOString());

/** Any JSON value, with keys that prototypes have too. */
export const anyJson: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  object: fc.dictionary(fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'toString', 'version')), tie('value'), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -1, 1.5, ''),
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
})).value;

/** Any JSON object. */
export const anyObject: fc.Arbitrary<JsonObject> = fc.dictionary(text, anyJson, { maxKeys: 4, noNullPrototype: true });

const call = fc.record({ id: text, name: text, arguments: anyObject }, { noNullPrototype: true });

const known = { reasoning_content: text, created_at: time };

function message(role: SavedRole): fc.Arbitrary<SavedMessage> {
  const content = fc.oneof(text, fc.array(anyJson, { maxLength: 3 }), ...(role === 'assistant' ? [fc.constant(null)] : []));
  return fc.record(
    {
      role: fc.constant(role),
      content,
      tool_calls: role === 'assistant' ? fc.array(call, { maxLength: 3 }) : fc.constant([]),
      tool_call_id: role === 'tool' ? fc.string({ minLength: 1, maxLength: 5 }) : fc.constant(null),
      name: role === 'tool' ? fc.option(text) : fc.constant(null),
      metadata: anyObject,
      ...known,
    },
    { noNullPrototype: true, requiredKeys: ['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'metadata'] },
  ) as fc.Arbitrary<SavedMessage>;
}

/** Contexts of any kind. Their deps have no keys that suggest a credential. */
export const anyContext: fc.Arbitrary<SavedContext> = fc.record(
  {
    version: fc.constant(1 as const),
    messages: fc.array(fc.oneof(message('system'), message('user'), message('assistant'), message('tool')), { maxLength: 6 }),
    tool_calls: fc.array(call, { maxLength: 3 }),
    system_prompt: fc.option(text),
    deps: fc.dictionary(fc.constantFrom('user', 'cart', 'locale', '__proto__'), fc.oneof(count, text), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
    usage: fc.record(
      {
        requests: count,
        tool_calls: count,
        input_tokens: count,
        output_tokens: count,
        total_tokens: count,
        cache_creation_input_tokens: count,
        cache_read_input_tokens: count,
      },
      { noNullPrototype: true, requiredKeys: ['requests', 'tool_calls', 'input_tokens', 'output_tokens', 'total_tokens'] },
    ),
    needs_response: fc.boolean(),
    iteration: count,
    max_iterations: count,
    started_at: fc.option(time),
    agent_name: fc.option(text),
  },
  { noNullPrototype: true },
);
