import { z } from 'zod';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { ContentItem, SpilledContent } from '../../../core/domain/content.ts';
import { type ErrorCode, LonghaulError, UsageError } from '../../../core/domain/errors.ts';
import { isJsonObject } from '../../../core/domain/json.ts';
import type { Event } from '../../../core/domain/record.ts';
import { defineRoute, ok, READ_PROBLEMS, type Route, runParams } from '../../route.ts';
import { component, jsonValue } from '../../schemas/values.ts';

const spilledParams = runParams.extend({
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/)
    .describe('The `sha256` of `spilled`, as the event or the step has it.'),
});

const SPILLED_PROBLEMS: readonly ErrorCode[] = [...READ_PROBLEMS, 'spilled_not_found', 'spilled_unavailable', 'payload_store_failed'];

/**
 * Reads the content of a tool result that was too large for the conversation, or of a file that a model has made. A caller names it by its
 * digest: only what tools and models of this very run have returned is read.
 */
const spilledRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/spilled/{sha256}',
    id: 'getSpilled',
    tag: 'runs',
    summary: 'Read the whole content of a tool result that was spilled, or of a file that a model has made',
    scope: 'runs:read',
    params: spilledParams,
    responses: ok(component('SpilledResult', z.object({ content: z.array(jsonValue) })), 'The content.'),
    problems: SPILLED_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: { content: await readSpilled(client, params) } }),
);

/** What a browser may show of a content that a model has made: it runs no code. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

/** Whatever the content is, a browser that opens it as a page gives it no rights. */
const SANDBOX = "default-src 'none'; sandbox";

/** Reads a file that a model has made as it is, so that a page can show it. */
const fileRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/files/{sha256}',
    id: 'getFile',
    tag: 'runs',
    summary: 'Read the bytes of a file that a model has made',
    description: 'For the `src` of an image in a page. What a browser could run is a download.',
    scope: 'runs:read',
    params: spilledParams,
    query: z.strictObject({ token: z.string().exactOptional().describe('A token for the run, for clients that send no headers.') }),
    responses: { 200: { description: 'The bytes.', schema: z.unknown(), contentType: '*/*' } },
    problems: SPILLED_PROBLEMS,
  },
  async ({ params, client }) => {
    const [part] = await readSpilled(client, params);
    const { data, mediaType } = isJsonObject(part) ? part : {};
    if (typeof data !== 'string' || typeof mediaType !== 'string') throw notSpilled(params.runId);
    const type = mediaType.toLowerCase();
    const isShown = SHOWN.test(type);
    return new Response(Buffer.from(data, 'base64'), {
      headers: {
        'content-type': isShown ? type : 'application/octet-stream',
        'content-disposition': isShown ? 'inline' : 'attachment',
        'content-security-policy': SANDBOX,
      },
    });
  },
);

/** The routes that read what a run has in the payload store. */
export const SPILLED_ROUTES: readonly Route[] = [spilledRoute, fileRoute];

/** Returns content of a run by its digest. Throws `spilled_not_found` if no tool and no model of the run has returned it. */
async function readSpilled(client: LonghaulClient, { runId, sha256 }: { runId: string; sha256: string }): Promise<unknown[]> {
  const spilled = await spilledIn(client.handle(runId).events(), sha256);
  if (spilled === undefined) throw notSpilled(runId);
  return spilledContentOf(client, spilled);
}

function notSpilled(runId: string): LonghaulError {
  return new LonghaulError('spilled_not_found', `Run "${runId}" has spilled no content of that digest`);
}

async function spilledIn(events: AsyncIterable<Event>, sha256: string): Promise<SpilledContent | undefined> {
  for await (const { content, given, usage } of events) {
    // What a caller has given as an earlier conversation names any content it likes.
    if (given) continue;
    const found = content.flatMap((item) => spilledOf(item, usage !== undefined)).find((one) => one.sha256 === sha256);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns what an item has in the payload store. A message has something there only if a model of this run has said it. */
function spilledOf(item: ContentItem, isOfModel: boolean): SpilledContent[] {
  if (item.type === 'tool_result') return item.spilled === undefined ? [] : [item.spilled];
  if (item.type !== 'message' || !isOfModel || typeof item.content === 'string') return [];
  return item.content.flatMap((part) => (part.type === 'text' || part.spilled === undefined ? [] : [part.spilled]));
}

async function spilledContentOf(client: LonghaulClient, spilled: SpilledContent): Promise<unknown[]> {
  try {
    return await client.readSpilled(spilled);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new LonghaulError('spilled_unavailable', 'The service has no payload store', { cause: error });
  }
}
