import type { JsonObject } from '../domain/json/json.ts';
import { COUNT } from '../wire-schemas/bounded-number.ts';

/** Returns the schema of a value that may also be null. */
function orNull(schema: JsonObject & { type: string }): JsonObject {
  return { ...schema, type: [schema.type, 'null'] };
}

const TEXT = orNull({ type: 'string' });
const AMOUNT = { ...COUNT, type: ['integer', 'null'] };
const OBJECT = orNull({ type: 'object' });
const CALLS = orNull({ type: 'array', items: { type: 'object' } });

/** A message may have any role: an unknown one is read as that of the user. */
const MESSAGE: JsonObject = {
  type: 'object',
  properties: {
    content: { type: ['string', 'array', 'null'] },
    tool_calls: CALLS,
    tool_call_id: TEXT,
    name: TEXT,
    metadata: OBJECT,
    reasoning_content: TEXT,
    created_at: TEXT,
  },
};

const USAGE = orNull({
  type: 'object',
  properties: {
    requests: AMOUNT,
    tool_calls: AMOUNT,
    input_tokens: AMOUNT,
    output_tokens: AMOUNT,
    total_tokens: AMOUNT,
    cache_creation_input_tokens: AMOUNT,
    cache_read_input_tokens: AMOUNT,
  },
});

/** The JSON Schema of a saved context. Every field but the version may be left out or null, and further fields are allowed. */
export const SAVED_CONTEXT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    messages: orNull({ type: 'array', items: MESSAGE }),
    tool_calls: CALLS,
    system_prompt: TEXT,
    deps: OBJECT,
    usage: USAGE,
    needs_response: { type: ['boolean', 'null'] },
    iteration: AMOUNT,
    max_iterations: AMOUNT,
    started_at: TEXT,
    agent_name: TEXT,
    agent_description: TEXT,
  },
};
