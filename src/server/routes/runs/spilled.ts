import { z } from 'zod';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { ContentItem, SpilledContent } from '../../../core/domain/content.ts';
import { LonghaulError, UsageError } from '../../../core/domain/errors.ts';
import type { Event } from '../../../core/domain/record.ts';
import { defineRoute, ok, READ_PROBLEMS, type Route, runParams } from '../../route.ts';
import { component, jsonValue } from '../../schemas/values.ts';

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
    params: runParams.extend({
      sha256: z
        .string()
        .regex(/^[\da-f]{64}$/)
        .describe('The `sha256` of `spilled`, as the event or the step has it.'),
    }),
    responses: ok(component('SpilledResult', z.object({ content: z.array(jsonValue) })), 'The content.'),
    problems: [...READ_PROBLEMS, 'spilled_not_found', 'spilled_unavailable', 'payload_store_failed'],
  },
  async ({ params: { runId, sha256 }, client }) => {
    const spilled = await spilledIn(client.handle(runId).events(), sha256);
    if (spilled !== undefined) return { status: 200, body: { content: await spilledContentOf(client, spilled) } };
    throw new LonghaulError('spilled_not_found', `Run "${runId}" has spilled no content of that digest`);
  },
);

/** The routes that read what a run has in the payload store. */
export const SPILLED_ROUTES: readonly Route[] = [spilledRoute];

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
