import type { LonghaulClient } from '../../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../../client/run-handle.ts';
import type { RunResult } from '../../../../core/domain/result.ts';
import { isTerminal } from '../../../../core/domain/run.ts';
import type { ServerSettings } from '../../../server-settings.ts';
import { answerSchema } from '../starting/model-agent.ts';
import { knownAgent } from '../../../starting/known-agent.ts';
import { readFacts } from '../starting/run-facts.ts';
import { type ResponseFacts, secondsOf } from './response-body.ts';
import { ResponseEvents } from './response-events.ts';
import type { ResponseBody } from './wire-event.ts';

type Reading = Pick<RunHandle<unknown>, 'runId' | 'events' | 'status' | 'result'>;

/** Returns the facts about a run that was started in any way. Throws `run_not_found` for a run of another principal. */
export async function readResponseFacts(
  client: LonghaulClient,
  runId: string,
  settings: Pick<ServerSettings, 'agents'>,
): Promise<ResponseFacts & { hasEnded: boolean }> {
  const { agentName, startTime, status } = await client.handle(runId).status();
  const kept = await readFacts(client.temporal, runId);
  const { createdAt = secondsOf(startTime), parameters = {} } = kept ?? {};
  const schema = answerSchema(knownAgent(settings, agentName));
  return { runId, agent: agentName, createdAt, parameters, schema, hasEnded: isTerminal(status) };
}

/** Returns the response of a run as it is now, whether the run has ended or not. Throws `run_not_found` for a run of another principal. */
export async function readCurrentResponse(
  client: LonghaulClient,
  runId: string,
  settings: Pick<ServerSettings, 'agents'>,
): Promise<ResponseBody> {
  const { hasEnded, ...facts } = await readResponseFacts(client, runId, settings);
  const handle = client.handle(runId);
  const result = hasEnded ? await handle.result({ steps: true }) : undefined;
  return readResponse(handle, facts, result);
}

/** Returns the response of a run as far as it has been recorded. `result`: with its steps. */
export async function readResponse(handle: Reading, facts: ResponseFacts, result: RunResult<unknown> | undefined): Promise<ResponseBody> {
  const events = new ResponseEvents(facts);
  let offset = 0;
  for await (const event of handle.events()) {
    drain(events.take({ type: 'event', offset, event, cursor: '' }));
    offset += 1;
  }
  const last = result?.steps?.at(-1);
  if (last !== undefined) drain(events.take({ type: 'step', step: last, cursor: '' }));
  if (result !== undefined) drain(events.end(result));
  return events.response;
}

function drain(events: Iterable<unknown>): void {
  for (const _ of events);
}
