import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { type AgentSnapshot, toolOwner } from '../../src/core/domain/agent.ts';
import { cutText } from '../../src/core/domain/byte-budgets.ts';
import type { ToolCall } from '../../src/core/domain/content.ts';
import { LonghaulError, thrownMessage, UsageError } from '../../src/core/domain/errors.ts';
import {
  blockedText,
  type GuardrailFinding,
  type GuardrailReport,
  type GuardrailSnapshot,
  guardrailsOf,
  type GuardrailSpent,
  type GuardrailType,
  refusalIn,
} from '../../src/core/domain/guardrails.ts';
import { canonicalJson, defined } from '../../src/core/domain/json.ts';
import { type ModelRequest, partsOfModelName } from '../../src/core/domain/model.ts';
import { addSpent, dollarsOf, pricedSpent } from '../../src/core/domain/usage.ts';
import { type DataView, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { unknownField } from '../../src/core/domain/text.ts';
import type { Resources } from '../../src/define/context.ts';
import type { OptionTable } from '../../src/define/option-checks.ts';
import type { AnyGuardrail, GuardrailAnswer, GuardrailContext, GuardrailContexts } from '../../src/define/guardrails.ts';
import { requireAnswer, splitReasoning } from '../../src/model/answer-text.ts';
import { parseJsonText } from '../../src/model/parse-json.ts';
import { jsonSchemaOf } from '../../src/schema/zod-schemas.ts';
import { callClient } from '../fresh-secrets.ts';
import { SpentAttempts } from '../model-calls/ask-model.ts';
import { eventsOf, queryRun, runIdOf } from '../run-queries/query-run.ts';
import { type ActivityRuntime, providerContext } from '../runtime.ts';
import type { CallVerdict, PartReview, PointScope, ReviewScope, WorkerPart } from '../worker-part.ts';

/** The maximum bytes of JSON of a finding's message: it is part of the record, of the result, and of the text for the model. */
const MESSAGE_BYTES = 500;

/** Guardrails in a worker: guardrails for calls review calls. */
export const guardrailsInWorker: WorkerPart = {
  name: 'guardrails',
  defined: (agent) => ({ fields: snapshotGuardrails(agent) }),
  requireReview(runtime, snapshot) {
    pinnedGuardrails(runtime, snapshot, 'tool_call');
  },
  review: reviewByGuardrails,
  requirePoint(runtime, snapshot, point) {
    pinnedGuardrails(runtime, snapshot, point);
  },
  atPoint: checkAtPoint,
};

/**
 * Checks calls with the run's guardrails for calls, all at once. Undefined without guardrails. Throws `unknown_guardrail` if this worker
 * lacks one.
 */
function reviewByGuardrails(scope: ReviewScope, calls: readonly ToolCall[]): Promise<PartReview | undefined> | undefined {
  const guardrails = pinnedGuardrails(scope.runtime, scope.snapshot, 'tool_call');
  return guardrails.length === 0 || calls.length === 0 ? undefined : checkCalls(scope, guardrails, calls);
}

/** Returns the guardrails' findings; undefined if all calls pass without a cost. */
async function checkCalls(
  { runtime, run, snapshot, signal, data = () => queryRun<DataView>(run, QUERIES.data, null) }: ReviewScope,
  guardrails: readonly PinnedGuardrail[],
  calls: readonly ToolCall[],
): Promise<PartReview | undefined> {
  const models = new GuardrailModels(runtime, snapshot);
  const scope = { runtime, run, snapshot, signal, models, data: await data(), resources: await runtime.resourcePool.use() };
  const checks = calls.map(({ toolCallId: id, name, arguments: args }) =>
    runGuardrails(scope, guardrails, { type: 'tool_call', call: { id, name, arguments: args }, text: canonicalJson(args) }),
  );
  const findings = (await Promise.all(checks)).flat();
  const { spent } = models;
  if (findings.length === 0 && spent === undefined) return undefined;
  const verdicts = calls.flatMap(({ toolCallId }): [string, CallVerdict][] => {
    const refusal = refusalIn({ findings: findings.filter(({ callId }) => callId === toolCallId) });
    return refusal === undefined ? [] : [[toolCallId, { problem: blockedText(refusal) }]];
  });
  return { verdicts: new Map(verdicts), record: { guardrails: { findings, ...defined({ spent }) } } };
}

/** The run that checks belong to. */
interface GuardrailScope {
  runtime: ActivityRuntime;
  run: OfRun;
  snapshot: AgentSnapshot;
  signal: AbortSignal;
  models: GuardrailModels;
  data: DataView;
  resources: Resources;
}

/** The subject of a check: the fields of its context that differ by type. */
type Subject = {
  [Type in keyof GuardrailContexts]: Omit<GuardrailContexts[Type], Exclude<keyof GuardrailContext, 'text'>>;
}[keyof GuardrailContexts];

/** Checks a subject with all guardrails at the same time, and returns their findings in the order of the guardrails. Never throws. */
async function runGuardrails(scope: GuardrailScope, guardrails: readonly PinnedGuardrail[], subject: Subject): Promise<GuardrailFinding[]> {
  const findings = await Promise.all(guardrails.map((guardrail) => runGuardrail(scope, guardrail, subject)));
  return findings.filter((finding) => finding !== undefined);
}

/** Returns the finding of a check; undefined if it passes. */
async function runGuardrail(
  scope: GuardrailScope,
  { pinned, guardrail }: PinnedGuardrail,
  subject: Subject,
): Promise<GuardrailFinding | undefined> {
  const { name, type, timeoutMs, failOpen } = pinned;
  const finding = (outcome: GuardrailFinding['outcome'], message: string): GuardrailFinding => ({
    name,
    type,
    outcome,
    message: briefMessage(scope.runtime, message),
    ...(subject.type === 'tool_call' ? { callId: subject.call.id } : {}),
  });
  const timeUp = new AbortController();
  const signal = AbortSignal.any([scope.signal, timeUp.signal]);
  try {
    const checking = Promise.resolve(guardrail.check(contextOf(scope, guardrail, subject, signal) as never));
    const late = delay(timeoutMs, undefined, { signal }).then(() => {
      throw new Error(`no answer within ${timeoutMs} ms`);
    });
    const given: unknown = await Promise.race([checking, late]);
    const problem = isObject(given) ? unknownField(given, ANSWER_FIELDS) : undefined;
    // A misspelt "passed: false" must not pass because the guardrail may fail open.
    if (problem !== undefined) return finding('failed', `Guardrail "${name}" failed: its answer has an ${problem}`);
    const answer = readAnswer(given);
    return answer.passed ? undefined : finding(answer.trips === false ? 'warned' : 'tripped', answer.message);
  } catch (error) {
    return finding(failOpen ? 'failed_open' : 'failed', `Guardrail "${name}" failed: ${thrownMessage(error)}`);
  } finally {
    timeUp.abort();
  }
}

function contextOf(
  { run, snapshot, models, data, resources }: GuardrailScope,
  guardrail: PinnedGuardrail['guardrail'],
  subject: Subject,
  signal: AbortSignal,
): GuardrailContext & Subject {
  return {
    ...structuredClone(subject),
    deps: Object.freeze(structuredClone(data.deps)),
    principal: Object.freeze(structuredClone(data.principal ?? {})),
    state: Object.freeze(structuredClone(data.state)),
    resources,
    events: eventsOf(run),
    agent: snapshot.name,
    runId: runIdOf(run),
    signal,
    ask: ((model, prompt, schema) => models.ask(guardrail, signal, { model, prompt, schema })) as GuardrailContext['ask'],
  };
}

/** The fields of an answer. The compiler reports a missing and an unknown one. */
const ANSWER_FIELDS: OptionTable<GuardrailAnswer> = { passed: true, message: true, trips: true };

function isObject(answer: unknown): answer is object {
  return typeof answer === 'object' && answer !== null;
}

/** Reads the answer of a check. Throws for anything but `{passed: true}` and `{passed: false, message}`. */
function readAnswer(answer: unknown): GuardrailAnswer {
  const { passed, message, trips } = isObject(answer) ? (answer as Partial<Record<string, unknown>>) : {};
  if (passed === true) return { passed };
  if (passed === false && typeof message === 'string' && message.trim() !== '') return { passed, message, trips: trips !== false };
  throw new Error('its answer is neither {passed: true} nor {passed: false, message}');
}

/** Secrets are redacted before the text is cut: part of a secret would not be found. */
function briefMessage({ secrets }: ActivityRuntime, message: string): string {
  return cutText(secrets.redact(message).toWellFormed(), MESSAGE_BYTES);
}

/** A pinned guardrail of a run, with this worker's version of it. */
interface PinnedGuardrail {
  pinned: GuardrailSnapshot;
  guardrail: AnyGuardrail;
}

/**
 * Returns the guardrails of a type that a run has. Throws `unknown_guardrail` if this worker lacks one, or has it with another type:
 * another worker may have it.
 */
function pinnedGuardrails({ registry }: ActivityRuntime, snapshot: AgentSnapshot, type: GuardrailType): PinnedGuardrail[] {
  const owner = toolOwner(snapshot);
  return guardrailsOf(snapshot, type).map((pinned) => {
    const known = registry.parts(owner)?.guardrails ?? [];
    const guardrail = known.find(({ name, type: of }) => name === pinned.name && of === pinned.type);
    if (guardrail === undefined) {
      const missing = { kind: 'guardrail', name: pinned.name, known: known.map(({ name }) => name) };
      throw registry.missingPart('unknown_guardrail', missing, owner, ` of type "${pinned.type}"`);
    }
    return { pinned, guardrail };
  });
}

/** The model calls of the checks of one activity, and their cost by model. */
class GuardrailModels {
  readonly #runtime: ActivityRuntime;
  readonly #snapshot: AgentSnapshot;
  readonly #spent = new Map<string, GuardrailSpent>();

  constructor(runtime: ActivityRuntime, snapshot: AgentSnapshot) {
    this.#runtime = runtime;
    this.#snapshot = snapshot;
  }

  /** The cost so far, or undefined. */
  get spent(): GuardrailSpent[] | undefined {
    return this.#spent.size === 0 ? undefined : [...this.#spent.values()];
  }

  /** Asks a model that the guardrail declares, with a single attempt. */
  async ask({ name, models }: AnyGuardrail, signal: AbortSignal, { model, prompt, schema }: Question): Promise<unknown> {
    if (!models.some((one) => one === model)) {
      throw new UsageError(`guardrail "${name}" asks model "${model}", which it does not declare: add it to its "models"`);
    }
    const client = this.#runtime.registry.provider(model);
    const request = requestOf(model, prompt, schema, client.capabilities.structuredOutput);
    const attempt = new SpentAttempts(request, undefined);
    try {
      signal.throwIfAborted();
      const answer = await callClient(client, request, {
        ...providerContext(this.#runtime, this.#snapshot),
        signal,
        ...attempt.listener(),
      });
      attempt.answered(answer);
      requireAnswer(answer, model);
      const { text } = splitReasoning(answer.content);
      return schema === undefined ? text : parsedAnswer(model, text, schema);
    } finally {
      this.#count(model, attempt);
    }
  }

  /** A call that received nothing costs nothing, and does not count. */
  #count(model: string, { current }: SpentAttempts): void {
    if (current === undefined) return;
    const { calls = 0, ...before } = this.#spent.get(model) ?? {};
    this.#spent.set(model, { model, calls: calls + 1, ...addSpent(before, current) });
    const { telemetry } = this.#runtime.telemetry ?? {};
    const { reported } = pricedSpent(current, this.#snapshot.prices?.[model]);
    telemetry?.measure((metrics) => metrics.modelCost({ model, agent: this.#snapshot.name, dollars: reported && dollarsOf(reported) }));
  }
}

/** A question of a guardrail to a model. */
interface Question {
  model: string;
  prompt: string;
  schema?: z.ZodType | undefined;
}

function requestOf(model: string, prompt: string, schema: z.ZodType | undefined, isEnforced: boolean): ModelRequest {
  const json = schema === undefined ? undefined : jsonSchemaOf(schema, 'the schema of "ask"');
  const instructions = json === undefined ? [] : [`Answer with JSON alone that fits this JSON Schema: ${JSON.stringify(json)}`];
  return {
    model: partsOfModelName(model).id,
    instructions,
    conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: prompt }] }],
    tools: [],
    ...(json === undefined || !isEnforced ? {} : { output: { name: 'answer', schema: json, strict: false } }),
    settings: {},
  };
}

function parsedAnswer(model: string, text: string, schema: z.ZodType): unknown {
  const json = parseJsonText(text, true);
  if (!json.ok) throw new LonghaulError('model_bad_response', `The answer of model "${model}" is not JSON: ${json.problem}`);
  const result = schema.safeParse(json.value);
  if (result.success) return result.data;
  throw new LonghaulError('model_bad_response', `The answer of model "${model}" does not fit: ${result.error.message}`);
}

/** Returns an agent's guardrails in pinned form. */
function snapshotGuardrails({ guardrails = [] }: AnyAgent): Pick<AgentSnapshot, 'guardrails'> {
  if (guardrails.length === 0) return {};
  return {
    guardrails: guardrails.map(({ name, type, timeoutMs, failOpen }) => ({
      name,
      type,
      timeoutMs,
      ...(failOpen ? { failOpen: true as const } : {}),
    })),
  };
}

/** Checks new messages, or an answer, with all guardrails of that type at once. Undefined without guardrails. */
function checkAtPoint({ runtime, run, snapshot, signal, isCancelled, read }: PointScope): Promise<GuardrailReport> | undefined {
  const guardrails = pinnedGuardrails(runtime, snapshot, run.point);
  if (guardrails.length === 0) return undefined;
  const check = async (): Promise<GuardrailReport> => {
    const models = new GuardrailModels(runtime, snapshot);
    const { data, subject } = await read();
    const scope = { runtime, run, snapshot, signal, models, data, resources: await runtime.resourcePool.use() };
    const findings = await runGuardrails(scope, guardrails, subject);
    const { spent } = models;
    // If the run was cancelled meanwhile, the checks' cost still counts, but their findings do not.
    return { findings: isCancelled() ? [] : findings, ...defined({ spent }) };
  };
  return check();
}
