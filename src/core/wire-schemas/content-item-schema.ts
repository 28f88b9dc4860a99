import type { ContentPart } from '../domain/content/content.ts';
import type { JsonObject } from '../domain/json/json.ts';
import type { JsonProblem } from '../json-schema/check-json-schema.ts';
import { COUNT } from './bounded-number.ts';

const TEXT: JsonObject = { type: 'string' };
const NAME: JsonObject = { type: 'string', minLength: 1 };
const SIZE: JsonObject = { type: 'number', minimum: 0 };

/** Returns the JSON Schema of one of several objects, with its own type and fields. */
function variant(type: string, fields: JsonObject, required: string[] = []): JsonObject {
  return {
    type: 'object',
    properties: { type: { type: 'string', const: type }, ...fields },
    required: ['type', ...required],
    additionalProperties: false,
  };
}

function mediaPart(type: string, fields: JsonObject): JsonObject {
  return variant(type, { url: TEXT, data: TEXT, mediaType: TEXT, ...fields });
}

/** The choices of the content of a message: text, or parts of which some may be media. */
export const MESSAGE_CONTENT: readonly JsonObject[] = [
  TEXT,
  {
    type: 'array',
    minItems: 1,
    items: {
      anyOf: [
        variant('text', { text: TEXT }, ['text']),
        mediaPart('image', { width: SIZE, height: SIZE }),
        mediaPart('audio', { format: TEXT }),
        mediaPart('video', { format: TEXT }),
        mediaPart('file', { name: TEXT }),
      ],
    },
  },
];

/** The JSON Schema of the location of content in a payload store. */
const SPILLED: JsonObject = {
  type: 'object',
  properties: { store: TEXT, claim: { type: 'object', additionalProperties: TEXT }, bytes: COUNT, sha256: TEXT },
  required: ['store', 'claim', 'bytes', 'sha256'],
  additionalProperties: false,
};

/** The JSON Schema of an item of a conversation. */
export const CONTENT_ITEM: JsonObject = {
  anyOf: [
    variant('message', { role: { enum: ['system', 'user', 'assistant'] }, content: { anyOf: [...MESSAGE_CONTENT] } }, ['role', 'content']),
    variant('tool_call', { toolCallId: NAME, name: NAME, arguments: { type: 'object' } }, ['toolCallId', 'name', 'arguments']),
    variant(
      'tool_result',
      { toolCallId: NAME, name: NAME, status: { enum: ['success', 'error'] }, content: { type: 'array' }, spilled: SPILLED },
      ['toolCallId', 'name', 'status', 'content'],
    ),
  ],
};

/** Lists the media parts that do not have exactly one source. `path` leads to the content. */
export function mediaProblems(content: string | readonly ContentPart[], path: string): JsonProblem[] {
  if (typeof content === 'string') return [];
  return content.flatMap((one, index) => {
    if (one.type === 'text' || (one.url === undefined) !== (one.data === undefined)) return [];
    return [
      { path: `${path}[${index}]`, message: `expected exactly one of "url" and "data", got ${one.url === undefined ? 'neither' : 'both'}` },
    ];
  });
}
