import type { z } from 'zod';
import type { GuardrailSpent } from '../../src/core/domain/guardrails/guardrail.ts';
import { LonghaulError, UsageError } from '../../src/core/domain/errors/error.ts';
import type { ModelRequest } from '../../src/core/domain/model/model.ts';
import { addSpent } from '../../src/core/domain/model/spent.ts';
import { splitReasoning } from '../../src/model/split-reasoning.ts';
import { requireAnswer } from '../../src/model/require-answer.ts';
import { parseJsonText } from '../../src/model/parse-json-text.ts';
import { jsonSchemaOf } from '../../src/schema/zod-json-schema.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { AnyGuardrail } from '../../src/define/guardrails/guardrail-definition.ts';
import { providerContext } from '../model-calls/provider-context.ts';
import { SpentAttempts } from '../model-calls/spent-attempts.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The model calls of the checks of one activity, and their cost by model. */
export class GuardrailModels {
  readonly #runtime: ActivityRuntime;
  readonly #snapshot: AgentSnapshot;
  readonly #spent = new Map<string, GuardrailSpent>();

  constructor(runtime: ActivityRuntime, snapshot: AgentSnapshot) {
    this.#runtime = runtime;
    this.#snapshot = snapshot;
  }

  /** The cost so far; undefined for nothing. */
  get spent(): GuardrailSpent[] | undefined {
    return this.#spent.size === 0 ? undefined : [...this.#spent.values()];
  }

  /** Asks a model that the guardrail has declared, once: it makes no second attempt. */
  async ask({ name, models }: AnyGuardrail, signal: AbortSignal, { model, prompt, schema }: Question): Promise<unknown> {
    if (!models.some((one) => one === model)) {
      throw new UsageError(`guardrail "${name}" asks model "${model}", which it does not declare: add it to its "models"`);
    }
    const client = this.#runtime.registry.provider(model);
    const request = requestOf(model, prompt, schema, client.capabilities.structuredOutput);
    const attempt = new SpentAttempts(request, undefined);
    try {
      signal.throwIfAborted();
      const answer = await client.call(request, { ...providerContext(this.#runtime, this.#snapshot), signal, ...attempt.listener() });
      attempt.answered(answer);
      requireAnswer(answer, model);
      const { text } = splitReasoning(answer.content);
      return schema === undefined ? text : parsed(model, text, schema);
    } finally {
      this.#count(model, attempt);
    }
  }

  /** A call that received nothing costs nothing, and does not count. */
  #count(model: string, { current }: SpentAttempts): void {
    if (current === undefined) return;
    const { calls = 0, ...before } = this.#spent.get(model) ?? {};
    this.#spent.set(model, { model, calls: calls + 1, ...addSpent(before, current) });
  }
}

/** A question of a guardrail to a model. */
export interface Question {
  model: string;
  prompt: string;
  schema?: z.ZodType | undefined;
}

function requestOf(model: string, prompt: string, schema: z.ZodType | undefined, isEnforced: boolean): ModelRequest {
  const json = schema === undefined ? undefined : jsonSchemaOf(schema, 'the schema of "ask"');
  const instructions = json === undefined ? [] : [`Answer with JSON alone that fits this JSON Schema: ${JSON.stringify(json)}`];
  return {
    model: model.slice(model.indexOf('/') + 1),
    instructions,
    conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: prompt }] }],
    tools: [],
    ...(json === undefined || !isEnforced ? {} : { output: { name: 'answer', schema: json, strict: false } }),
    settings: {},
  };
}

function parsed(model: string, text: string, schema: z.ZodType): unknown {
  const json = parseJsonText(text, true);
  if (!json.ok) throw new LonghaulError('model_bad_response', `The answer of model "${model}" is not JSON: ${json.problem}`);
  const result = schema.safeParse(json.value);
  if (result.success) return result.data;
  throw new LonghaulError('model_bad_response', `The answer of model "${model}" does not fit: ${result.error.message}`);
}
