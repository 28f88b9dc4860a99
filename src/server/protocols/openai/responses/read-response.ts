import type { LonghaulClient } from '../../../../client/longhaul-client.ts';
import type { AnyAgent } from '../../../../define/agent-definition.ts';
import type { RunHandle } from '../../../../client/run-handle.ts';
import type { EndedRun } from '../answering/ended-run.ts';
import { isTerminal } from '../../../../core/domain/run/status.ts';
import { holdsAnswers } from '../starting/model-agent.ts';
import { readFacts } from '../starting/run-facts.ts';
import { type ResponseFacts, secondsOf } from './response-body.ts';
import { ResponseEvents } from './response-events.ts';
import type { ResponseBody } from './wire-event.ts';

type Reading = Pick<RunHandle<unknown>, 'runId' | 'events' | 'status' | 'result'>;

/** Returns the facts about a run that was started in any way. Throws `run_not_found` for a run of another principal. */
export async function readResponseFacts(client: LonghaulClient, runId: string): Promise<ResponseFacts & { hasEnded: boolean }> {
  const { agentName, startTime, status } = await client.handle(runId).status();
  const kept = await readFacts(client.temporal, runId);
  const { createdAt = secondsOf(startTime), parameters = {} } = kept ?? {};
  return { runId, agent: agentName, createdAt, parameters, hasEnded: isTerminal(status) };
}

/** Returns the response of a run as far as it has been recorded. `agent`: its guardrails decide what is shown. */
export async function readResponse(
  handle: Reading,
  facts: ResponseFacts,
  { agent, result }: { agent: AnyAgent | string; result: EndedRun | undefined },
): Promise<ResponseBody> {
  const events = new ResponseEvents(facts, { holdsAnswers: holdsAnswers(agent) });
  let offset = 0;
  for await (const event of handle.events()) {
    drain(events.take({ type: 'event', offset, event, cursor: '' }));
    offset += 1;
  }
  if (result !== undefined) drain(events.end(result));
  return events.response;
}

function drain(events: Iterable<unknown>): void {
  for (const _ of events);
}
