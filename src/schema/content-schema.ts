import { z } from 'zod';
import type { ContentItem, ContentPart, MediaSource } from '../core/domain/content.ts';

const mediaSource = {
  url: z.string().exactOptional(),
  data: z.string().exactOptional(),
  mediaType: z.string().exactOptional(),
};

function hasOneSource({ url, data }: MediaSource): boolean {
  return (url === undefined) !== (data === undefined);
}

const ONE_SOURCE = 'needs exactly one of "url" and "data"';

/** The schema for a part of an incoming message: text, or media with exactly one of `url` and `data` (base64). */
export const contentPartSchema: z.ZodType<ContentPart> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z
    .object({ type: z.literal('image'), width: z.number().exactOptional(), height: z.number().exactOptional(), ...mediaSource })
    .refine(hasOneSource, ONE_SOURCE),
  z.object({ type: z.literal('audio'), format: z.string().exactOptional(), ...mediaSource }).refine(hasOneSource, ONE_SOURCE),
  z.object({ type: z.literal('video'), format: z.string().exactOptional(), ...mediaSource }).refine(hasOneSource, ONE_SOURCE),
  z.object({ type: z.literal('file'), name: z.string().exactOptional(), ...mediaSource }).refine(hasOneSource, ONE_SOURCE),
]);

/** The schema for an incoming content item: a union on `type`. Unknown keys are dropped. */
export const contentItemSchema: z.ZodType<ContentItem> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    role: z.enum(['system', 'user', 'assistant']),
    content: z.union([z.string(), z.array(contentPartSchema)]),
  }),
  z.object({
    type: z.literal('tool_call'),
    toolCallId: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.json()),
  }),
  z.object({
    type: z.literal('tool_result'),
    toolCallId: z.string(),
    name: z.string(),
    status: z.enum(['success', 'error']),
    content: z.array(z.json()),
  }),
]);
