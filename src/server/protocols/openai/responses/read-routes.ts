import { z } from 'zod';
import { hasScope } from '../../../auth/access/scopes.ts';
import { recordedName } from '../../../auth/caller.ts';
import { valueWithin } from '../../../requests/bounded-wait.ts';
import { flag, runParams } from '../../../routes/route-parts.ts';
import { defineRoute, type Route } from '../../../routing/route.ts';
import { jsonObject } from '../../../schemas/json.ts';
import { lastFinishOf } from '../answering/ended-run.ts';
import { runHeaders } from '../answering/run-headers.ts';
import { streamedResponse } from '../answering/streamed.ts';
import { invalidValue, unsupported } from '../errors/openai-refusal.ts';
import { readCurrentResponse, readResponse, readResponseFacts } from './read-response.ts';
import { responseBody } from './response-body.ts';
import { responseEncoder } from './response-encoder.ts';
import { placeOf, type SequencePlace } from './sequence.ts';

const responses = { 200: { description: 'The response, or its events.', schema: jsonObject } };

/** The time for which a cancellation waits for the end of the run, in milliseconds. */
const CANCEL_WAIT_MS = 10_000;

const retrieve = defineRoute(
  {
    method: 'GET',
    path: '/v1/responses/{runId}',
    id: 'getResponse',
    tag: 'agents',
    summary: 'Read a response, or follow it from a place on',
    scope: 'runs:read',
    params: runParams,
    query: z.strictObject({
      stream: flag.exactOptional(),
      starting_after: z.string().exactOptional(),
      include_obfuscation: z.string().exactOptional(),
    }),
    responses,
    problems: [],
  },
  async ({ params: { runId }, query: { stream = false, starting_after: after }, settings, ...request }) => {
    if (!stream && after !== undefined) throw unsupported('starting_after', 'it needs "stream"');
    const place = placeAfter(after);
    if (stream) {
      return streamedResponse({ ...request, settings, scope: 'runs:read' }, async () => {
        const { hasEnded: _, ...facts } = await readResponseFacts(request.client, runId, settings);
        return { runId, encoder: responseEncoder(facts, { after: place }) };
      });
    }
    return { status: 200, headers: runHeaders(runId), body: await readCurrentResponse(request.client, runId, settings) };
  },
);

const cancel = defineRoute(
  {
    method: 'POST',
    path: '/v1/responses/{runId}/cancel',
    id: 'cancelResponse',
    tag: 'agents',
    summary: 'Cancel a response',
    scope: 'runs:write',
    params: runParams,
    responses,
    problems: [],
  },
  async ({ params: { runId }, caller, client, signal, settings }) => {
    const handle = client.handle(runId);
    await handle.cancel('cancelled over the OpenAI protocol', { by: recordedName(caller) });
    const result = await valueWithin(CANCEL_WAIT_MS, signal, (options) => handle.result({ ...options, steps: true }));
    const { hasEnded: _, ...facts } = await readResponseFacts(client, runId, settings);
    const headers = runHeaders(runId);
    // The right to cancel is not that to read what was said.
    if (!hasScope(caller, 'runs:read')) {
      const lastFinish = result === undefined ? undefined : lastFinishOf(result);
      return { status: 200, headers, body: responseBody(facts, [], result, lastFinish) };
    }
    return { status: 200, headers, body: await readResponse(handle, facts, result) };
  },
);

function placeAfter(after: string | undefined): SequencePlace | undefined {
  if (after === undefined) return undefined;
  const place = /^\d+$/.test(after) ? placeOf(Number(after)) : undefined;
  if (place === undefined) throw invalidValue('starting_after', 'expected the "sequence_number" of an event of this response');
  return place;
}

/** The routes that read and cancel responses. */
export const RESPONSE_ROUTES: readonly Route[] = [retrieve, cancel];
