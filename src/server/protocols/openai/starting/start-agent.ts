import type { StartOptions } from '../../../../client/start.ts';
import type { AnyAgent } from '../../../../define/agent-definition.ts';
import type { ModelSettings } from '../../../../core/domain/agent.ts';
import type { JsonObject } from '../../../../core/domain/json.ts';
import { requestDigest, runIdOfKey } from '../../../requests/idempotency-key.ts';
import type { RouteRequest } from '../../../routing/route.ts';
import { endUnknown } from '../../../starting/known-agent.ts';
import { type StartOutcome, startOnce } from '../../../starting/start-once.ts';
import { memoWith } from '../../../starting/start-options.ts';
import { modelNotFound } from '../errors/openai-refusal.ts';
import type { Conversation } from '../input/conversation.ts';
import type { RepeatedParameters } from '../responses/response-body.ts';
import { type KeptFacts, memoOf, readFacts } from './run-facts.ts';

/** A start that a request of the protocol asks for. */
export interface AgentStart {
  /** The name of the route: a key belongs to one. */
  route: string;
  /** The request, which another one with the same key must equal. It may ask for the answer in another way. */
  body: unknown;
  agent: AnyAgent | string;
  opening: Conversation | { previousRunId: string; input: NonNullable<Conversation['input']> };
  settings: ModelSettings;
  maxToolCalls?: number | undefined;
  parameters: RepeatedParameters;
}

/** Members of a request that decide how the answer is given, and not what it is. */
const WAYS = new Set(['stream', 'stream_options', 'background']);

/**
 * Starts the run of a request, or finds the one that the same request has started before, by its idempotency key. Throws `model_not_found`
 * for an agent that the service does not list, if the worker that takes the run lacks it.
 */
export async function startAgent(
  { client, caller, idempotencyKey }: Pick<RouteRequest<unknown, unknown, unknown>, 'client' | 'caller' | 'idempotencyKey'>,
  { route, body, agent, opening, settings, maxToolCalls, parameters }: AgentStart,
): Promise<StartOutcome & KeptFacts> {
  const runId = idempotencyKey === undefined ? undefined : runIdOfKey(caller.principal, idempotencyKey);
  const digest = idempotencyKey === undefined ? undefined : requestDigest(route, idempotencyKey, withoutWays(body));
  const facts: KeptFacts = { createdAt: Math.floor(Date.now() / 1_000), parameters };
  const options = {
    ...opening,
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(maxToolCalls === undefined ? {} : { limits: { toolCalls: maxToolCalls } }),
    ...memoWith(memoOf(facts), digest),
    ...(runId === undefined ? {} : { runId }),
  } as StartOptions;
  const start = async (ifExists: 'fail' | 'return'): Promise<string> => (await client.start(agent, { ...options, ifExists })).runId;
  const outcome = await startOnce({
    client: client.temporal,
    runId,
    isOfKey: true,
    digest,
    start: () => start('fail'),
    existing: digest === undefined ? undefined : () => start('return'),
  });
  if (!outcome.repeated && typeof agent === 'string') {
    const hint = await endUnknown(client, caller, { runId: outcome.runId, name: agent });
    if (hint !== undefined) throw modelNotFound(agent, {}, hint);
  }
  const kept = outcome.repeated ? await readFacts(client.temporal, outcome.runId) : undefined;
  return { ...outcome, ...(kept ?? facts) };
}

function withoutWays(body: unknown): JsonObject {
  return Object.fromEntries(Object.entries(body as JsonObject).filter(([name]) => !WAYS.has(name)));
}
