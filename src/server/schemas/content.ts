import { z } from 'zod';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import { list, members, MOST } from './bounded.ts';
import { component } from './component.ts';
import { jsonObject, jsonValue } from './json.ts';

const source = { url: z.string().exactOptional(), data: z.string().exactOptional(), mediaType: z.string().exactOptional() };

/** A piece of a message. */
export const contentPart = component(
  'ContentPart',
  z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text'), text: z.string() }),
      z.strictObject({ type: z.literal('image'), width: z.number().exactOptional(), height: z.number().exactOptional(), ...source }),
      z.strictObject({ type: z.literal('audio'), format: z.string().exactOptional(), ...source }),
      z.strictObject({ type: z.literal('video'), format: z.string().exactOptional(), ...source }),
      z.strictObject({ type: z.literal('file'), name: z.string().exactOptional(), ...source }),
    ])
    .describe(
      'A piece of a message: text, or media by its URL or as small inline data (base64). Media has exactly one of `url` and `data`.',
    ),
);

/** The words of a user: text, or parts if it has media. */
export const inputContent = component(
  'InputContent',
  z.union([z.string(), list(contentPart, { max: MOST.parts })]).describe('Text, or parts if it has media.'),
);

/** Content that is in a payload store. */
export const spilledContent = component(
  'SpilledContent',
  z
    .strictObject({ store: z.string(), claim: members(z.string()), bytes: z.number(), sha256: z.string() })
    .describe('The location of content that is too large for the conversation.'),
);

/** One item of a conversation. */
export const contentItem = component(
  'ContentItem',
  z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('message'), role: z.enum(['system', 'user', 'assistant']), content: inputContent }),
      z.strictObject({ type: z.literal('tool_call'), toolCallId: z.string(), name: z.string(), arguments: jsonObject }),
      z.strictObject({
        type: z.literal('tool_result'),
        toolCallId: z.string(),
        name: z.string(),
        status: z.enum(['success', 'error']),
        content: list(jsonValue, { max: MOST.parts }),
        spilled: spilledContent.exactOptional(),
      }),
    ])
    .describe('A message, a call of a tool, or the result of one.'),
);

/** A saved context: see docs/saved-contexts.md. The client checks it. */
export const savedContext = component(
  'SavedContext',
  z
    .looseObject({ version: z.literal(1), messages: list(z.unknown(), { max: MOST.items }) })
    .transform((value: object) => value as SavedContext)
    .describe('The context of a run as a document.'),
);
