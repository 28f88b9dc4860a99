import type { z } from 'zod';
import type { ModelName } from '../../core/domain/model.ts';
import type { ContentItem } from '../../core/domain/content.ts';
import type { GuardrailType } from '../../core/domain/guardrails.ts';
import type { JsonObject, JsonValue } from '../../core/domain/json.ts';
import type { Principal } from '../../core/domain/run.ts';
import type { ReadEvents } from '../context/record-events.ts';
import type { Resources } from '../context/run-context.ts';

/**
 * The answer of a check. `message` says what was found: people read it and, for a tool call, the model. `trips: false`: the finding is
 * recorded, and what was checked passes.
 */
export type GuardrailAnswer =
  | { readonly passed: true; readonly message?: string }
  | { readonly passed: false; readonly message: string; readonly trips?: boolean };

/** The tool call that a guardrail checks. */
export interface CheckedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The context of every check. */
export interface GuardrailContext {
  /** The text that is checked: of the new messages, of the answer, or the arguments of the call as JSON. */
  readonly text: string;
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<JsonObject>;
  /** Whom the run acts for. Read-only. */
  readonly principal: Readonly<Principal>;
  /** The run's state. Read-only. */
  readonly state: Readonly<JsonObject>;
  readonly resources: Resources;
  /** Reads events of the record of the run: the newest 20, or those that the options name. Rejects in guardrails for calls of local code. */
  readonly events: ReadEvents;
  /** The name of the agent. */
  readonly agent: string;
  readonly runId: string;
  /** Aborted when the run is cancelled, the time is up, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** Asks one of the `models` of the guardrail. Its cost counts in the usage and the limits of the run. */
  ask(model: ModelName, prompt: string): Promise<string>;
  /** Asks for an answer that fits a schema. Throws if it does not fit. */
  ask<Schema extends z.ZodType>(model: ModelName, prompt: string, schema: Schema): Promise<z.output<Schema>>;
}

/** The context of a check of messages. */
export interface InputContext extends GuardrailContext {
  readonly type: 'input';
  /** The messages of the user that no guardrail has checked. */
  readonly messages: readonly Extract<ContentItem, { type: 'message' }>[];
}

/** The context of a check of an answer. */
export interface OutputContext extends GuardrailContext {
  readonly type: 'output';
  /** The output that the run would have. */
  readonly output: JsonValue;
}

/** The context of a check of a tool call. */
export interface ToolCallContext extends GuardrailContext {
  readonly type: 'tool_call';
  readonly call: CheckedCall;
}

/** The context of a check, by the type of the guardrail. */
export interface GuardrailContexts {
  input: InputContext;
  output: OutputContext;
  tool_call: ToolCallContext;
}

/** A guardrail as `defineGuardrail` returns it. */
export interface GuardrailDefinition<Type extends GuardrailType = GuardrailType> {
  readonly kind: 'longhaul.guardrail';
  readonly name: string;
  readonly type: Type;
  readonly failOpen: boolean;
  readonly timeoutMs: number;
  /** The models that it may ask, as `provider/model`. */
  readonly models: readonly ModelName[];
  /** Its type is checked by `defineGuardrail`. */
  readonly check: (context: never) => unknown;
}

/** A guardrail of any type. */
export type AnyGuardrail = GuardrailDefinition;
