import { z } from 'zod';
import type { SpilledContent } from '../../../core/domain/content/content.ts';
import { LonghaulError, UsageError } from '../../../core/domain/errors/error.ts';
import type { Event } from '../../../core/domain/record/event.ts';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import { defineRoute } from '../../routing/route.ts';
import { component } from '../../schemas/component.ts';
import { jsonValue } from '../../schemas/json.ts';
import { ok, READ_PROBLEMS, runParams } from '../route-parts.ts';

/**
 * Reads the content of a tool result that was too large for the conversation. A caller names it by its digest: only what tools of this very
 * run have returned is read.
 */
export const spilledRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/spilled/{sha256}',
    id: 'getSpilled',
    tag: 'runs',
    summary: 'Read the whole content of a tool result that was spilled',
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
    if (spilled !== undefined) return { status: 200, body: { content: await contentOf(client, spilled) } };
    throw new LonghaulError('spilled_not_found', `Run "${runId}" has spilled no content of that digest`);
  },
);

async function spilledIn(events: AsyncIterable<Event>, sha256: string): Promise<SpilledContent | undefined> {
  for await (const { content, given } of events) {
    // What a caller has given as an earlier conversation names any content it likes.
    if (given) continue;
    const found = content.find((item) => item.type === 'tool_result' && item.spilled?.sha256 === sha256);
    if (found?.type === 'tool_result') return found.spilled;
  }
  return undefined;
}

async function contentOf(client: LonghaulClient, spilled: SpilledContent): Promise<unknown[]> {
  try {
    return await client.readSpilled(spilled);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new LonghaulError('spilled_unavailable', 'The service has no payload store', { cause: error });
  }
}
