// Every name of a span, an attribute and a metric. Names with `gen_ai` and `error` follow OpenTelemetry's conventions for generative AI
// (open-telemetry/semantic-conventions-genai, still in development): a change there only changes this file.

/**
 * What the names of `gen_ai` follow: the guide of migration at this commit, which has all metrics. `test/telemetry/conventions.test.ts` has the
 * names that were read there, and in the pages about spans, with the commit of each page.
 */
export const CONVENTIONS = {
  repository: 'open-telemetry/semantic-conventions-genai',
  commit: '32c328e85013588c6fe32ebc30934ab5b1752b6a',
} as const;

/** The instrumentation scope of all spans and metrics. */
export const SCOPE = 'longhaul';

/** The operations, which are the beginnings of the names of spans, and the values of `gen_ai.operation.name`. */
export const OPERATIONS = {
  agent: 'invoke_agent',
  workflow: 'invoke_workflow',
  model: 'chat',
  tool: 'execute_tool',
} as const;

/** The names of spans that the conventions do not have. */
export const SPANS = {
  wait: 'longhaul.wait',
  step: 'longhaul.step',
  probe: 'longhaul.probe',
} as const;

/** The attributes of spans and the labels of metrics. */
export const ATTRIBUTES = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  agent: 'gen_ai.agent.name',
  workflow: 'gen_ai.workflow.name',
  conversation: 'gen_ai.conversation.id',
  tool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCall: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  outputMessages: 'gen_ai.output.messages',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheRead: 'gen_ai.usage.cache_read.input_tokens',
  cacheWrite: 'gen_ai.usage.cache_write.input_tokens',
  /** The older name of the same: there are backends that know only this one. */
  cacheCreation: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  errorType: 'error.type',
  run: 'longhaul.run.id',
  step: 'longhaul.step',
  attempt: 'longhaul.attempt',
  status: 'longhaul.status',
  stopReason: 'longhaul.stop_reason',
  steps: 'longhaul.steps',
  toolCalls: 'longhaul.tool_calls',
  modelCalls: 'longhaul.model_calls',
  cost: 'longhaul.cost_usd',
  turn: 'longhaul.turn',
  child: 'longhaul.child.run.id',
  waitOutcome: 'longhaul.wait.outcome',
  decision: 'longhaul.decision',
  decisionSource: 'longhaul.decision.source',
  method: 'http.request.method',
  route: 'http.route',
  httpStatus: 'http.response.status_code',
  /** A store of the worker: `payloadStore`, `archive` or `memory`. */
  store: 'longhaul.store',
  /** Where a permit of the governor came from: `lent` or `granted`. */
  source: 'source',
  /** The label of the fallback metrics. */
  from: 'from',
  to: 'to',
  code: 'code',
} as const;

/** The metrics. */
export const METRICS = {
  inferenceDuration: 'gen_ai.client.inference.duration',
  firstChunk: 'gen_ai.client.inference.time_to_first_chunk',
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
  cacheRead: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  cacheWrite: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.client.inference.usage.reasoning.output_tokens',
  toolDuration: 'gen_ai.execute_tool.duration',
  agentDuration: 'gen_ai.invoke_agent.duration',
  agentInferenceCalls: 'gen_ai.invoke_agent.inference_calls',
  agentToolCalls: 'gen_ai.invoke_agent.tool_calls',
  runsStarted: 'longhaul.runs.started',
  runsEnded: 'longhaul.runs.ended',
  cost: 'longhaul.cost_usd',
  /** US dollars of attempts of model calls, by model and agent. */
  modelCost: 'longhaul.model.cost_usd',
  approvalsWaiting: 'longhaul.approvals.waiting',
  fallbacks: 'longhaul.fallbacks',
  cacheLost: 'longhaul.cache.lost',
  streamDropped: 'longhaul.stream.dropped',
  /** Calls of tools with the effect `once` whose outcome is unknown. */
  outcomesUnknown: 'longhaul.outcomes.unknown',
  /** Failed accesses of the worker to its stores. */
  storeFailures: 'longhaul.store.failures',
  httpDuration: 'longhaul.http.duration',
  dropped: 'longhaul.telemetry.dropped',
  /** Seconds that a model call waited for its permit. */
  governorWait: 'longhaul.governor.wait',
  /** Calls that the provider refused although they had a permit. */
  governorRefused: 'longhaul.governor.refused',
  /** Seconds of pauses that providers requested. */
  governorHold: 'longhaul.governor.hold',
  /** Permits that the process received, lent ahead or on request. */
  governorPermits: 'longhaul.governor.permits',
  /** Calls that wait for their batch. */
  batchWaiting: 'longhaul.batch.waiting',
  /** Batches that have been posted and have not ended. */
  batchOpen: 'longhaul.batch.open',
  /** Seconds from the post of a batch to its end. */
  batchAge: 'longhaul.batch.age',
} as const;
