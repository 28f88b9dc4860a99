import { z } from 'zod';
import type { ToolCaller } from '../core/domain/agent.ts';
import { RAISE_LIMITS } from '../core/domain/approvals.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import { FINAL_ANSWER, notExecutable, RUN_CODE } from '../core/domain/tool-calls.ts';
import { ACTIVITIES } from '../core/protocol.ts';
import { isObjectSchema, providerSchema, toStrictJsonSchema } from '../schema/strict-json-schema.ts';
import { changesValues } from '../schema/changes-values.ts';
import { jsonSchemaOf } from '../schema/zod-schemas.ts';
import { type ApprovalOption, toolApproval } from './approvals.ts';
import type { Resources, RunContext } from './context.ts';
import { nonEmpty, type OptionTable, requireKnown, requireZod } from './option-checks.ts';
import {
  type Overflow,
  resultBudget,
  TOOL_POLICY_OPTIONS,
  toolCallers,
  type ToolDefinition,
  ToolFailure,
  toolPolicy,
  type ToolPolicyOptions,
} from './tool-definition.ts';
import { TOOL_CATEGORIES, type ToolCategory } from '../core/domain/tool-categories.ts';

/** An object schema, strict or not. */
export type ObjectSchema = z.ZodObject<z.core.$ZodLooseShape, z.core.$ZodObjectConfig>;

/** The options of `defineTool`. `Deps` and `Needed` are inferred from the type of the context that `execute` takes: `RunContext<Deps, Needed>`. */
export interface ToolOptions<
  Parameters extends ObjectSchema,
  Deps,
  Result,
  Needed = Resources,
  Name extends string = string,
> extends ToolPolicyOptions<Deps, Needed> {
  /** Letters, digits, `_` and `-`, at most 64. It is also the name of the tool's activity in the Temporal UI. */
  name: Name;
  /** Tells the model what the tool does and when to use it. */
  description: string;
  /**
   * For people: one line of at most 60 characters, such as `Refund`. The summary of the tool's activity in the Temporal UI
   * begins with it. A run keeps the label that it began with. The model never sees it.
   */
  label?: string;
  /**
   * For people and records: the version of the tool, such as `2` or `1.4.0`. A run keeps the version that it began with, and the records of
   * its calls have it. The model never sees it.
   */
  version?: string;
  /** The zod schema of the arguments, an object. */
  parameters: Parameters;
  /** The schema of the value that `execute` returns; a value that does not fit is an error result. */
  result?: z.ZodType;
  /**
   * Called once per attempt with the parsed arguments, in an activity. May return text, any JSON value, nothing, a
   * `ToolOutput`, or one of these with an update of the run's deps (`withUpdate`). An iterator, such as that of an async generator, is run
   * to its end: what it returns, or else the last value that it yields, is the result. A value that JSON would lose (a `Map`, a promise)
   * is an error result. An error that it throws is retried by the tool's policy; after the last attempt it becomes an error result for the
   * model. It must honor `context.signal`.
   *
   * `'none'`: the tool is only a schema. The model sees it, each call gets an error result at once, and the run continues:
   * for a tool that only shows what the model would ask for. Such a tool has no options for the execution of its calls.
   */
  execute: ((args: z.output<Parameters>, context: RunContext<Deps, Needed>) => Result) | 'none';
  /** False if its calls must never overlap with another call of the same response. Default true. */
  parallel?: boolean;
  /**
   * What its calls change in the deps (`withUpdate`) and the state (`setState`): `true` for any key, or a list of keys. Calls of one
   * response that change the same keys then run in order, and each sees the changes of the previous ones; a change to a key that
   * is not listed is an error result. `false`: nothing, so no call waits for a call of this tool.
   *
   * Default: not known. Such calls overlap, and a change that would undo a concurrent change becomes an error result.
   */
  updates?: boolean | readonly string[];
  /** The names of the worker's resources that `execute` uses. Lazy ones are opened for it; creating a worker without them throws. */
  resources?: readonly (keyof NoInfer<Needed> & string)[];
  /** Bytes of JSON that one result, or error result, may have in the conversation. Default 64,000, at most 400,000. */
  maxResultBytes?: number;
  /** The form of a result over `maxResultBytes`. Default `cut`. */
  overflow?: Overflow;
  /**
   * The calls that wait for a person or a service to decide: `always`, `never`, or a predicate that is called in an activity
   * with the parsed arguments once the model has asked for the call. `{when, deadline, onDeadline}` adds a deadline.
   * Default `never`.
   */
  approval?: ApprovalOption<z.output<Parameters>, Deps, Needed>;
  /**
   * True if plain objects that `execute` returns may set fields of the deps under the key `__update_context__`. Whoever makes
   * such an object changes the deps, so do not return untrusted objects; `withUpdate` does more. Default false: the key is
   * like any other.
   */
  legacyUpdates?: boolean;
  /**
   * The callers of the tool, for agents with `code`: `model` if the model may call it, `code` if code that the model wrote may.
   * Default: both. The model sees a tool that only code may call as a function of the code.
   */
  callers?: readonly ToolCaller[];
  /**
   * The kind of its effect: `read`, `write`, `execute`, `communicate` or `search`. Rules about calls can refer to it. In a burst, results
   * of `read` and `search` are stored with the next answer; after a crash before that, the call runs again. Default: none.
   */
  category?: ToolCategory;
  /** True if the provider must enforce the schema. Default: true if the schema is in the provider's strict subset. */
  strict?: boolean;
}

const TOOL_OPTIONS: OptionTable<ToolOptions<ObjectSchema, unknown, unknown>> = {
  name: true,
  description: true,
  label: true,
  version: true,
  parameters: true,
  result: true,
  execute: true,
  parallel: true,
  updates: true,
  resources: true,
  maxResultBytes: true,
  overflow: true,
  approval: true,
  callers: true,
  category: true,
  strict: true,
  legacyUpdates: true,
  ...TOOL_POLICY_OPTIONS,
};

/** The tool names that providers accept. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** The most characters of a label: the summary must have room for the arguments and the thought. */
const MAX_LABEL_LENGTH = 60;

/**
 * Defines a tool. Throws a `UsageError` that names the tool and the path if an option cannot work: a name that providers
 * refuse, parameters that are not an object or not JSON, limits out of range.
 *
 * @example
 * const search = defineTool({
 *   name: 'search_web',
 *   description: 'Searches the web and returns the best hits.',
 *   parameters: z.object({ query: z.string() }),
 *   execute: async ({ query }, { signal }) => searchWeb(query, signal),
 * });
 */
export function defineTool<
  Parameters extends ObjectSchema,
  Result,
  Deps = Record<string, unknown>,
  Needed = Resources,
  const Name extends string = string,
>(options: ToolOptions<Parameters, Deps, Result, Needed, Name>): ToolDefinition<z.output<Parameters>, Deps, Result, Needed, Name> {
  const { name } = options;
  checkName(name);
  const owner = `tool "${name}"`;
  requireKnown(owner, options, TOOL_OPTIONS);
  const schema = parametersSchema(owner, options.parameters);
  if (options.result !== undefined) requireZod(`${owner}: "result"`, options.result);
  const execute = options.execute === 'none' ? schemaAlone(name, options) : options.execute;
  if (typeof execute !== 'function')
    throw new UsageError(
      `${owner}: "execute" is ${execute === undefined ? 'missing' : JSON.stringify(execute)}: write a function, or "none" for a schema only`,
    );
  const approval = toolApproval(owner, options.approval);
  return {
    kind: 'longhaul.tool',
    name,
    description: nonEmpty(`${owner}: "description"`, options.description),
    ...(options.label === undefined ? {} : { label: checkLabel(`${owner}: "label"`, options.label) }),
    ...(options.version === undefined ? {} : { version: checkVersion(`${owner}: "version"`, options.version) }),
    parameters: options.parameters,
    ...defined({ result: options.result }),
    schema,
    ...(options.execute !== 'none' && changesValues(options.parameters) ? { changesArguments: true as const } : {}),
    ...providerSchema(owner, schema, toStrictJsonSchema(schema), options.strict),
    parallel: options.parallel ?? true,
    ...updatesField(`${owner}: "updates"`, options.updates),
    policy: toolPolicy(owner, options),
    ...defined({ verify: options.verify }),
    retryOn: options.retryOn ?? 'any',
    ...(options.legacyUpdates === true ? { legacyUpdates: true as const } : {}),
    ...(options.resources === undefined ? {} : { resources: [...options.resources] }),
    ...resultBudget(owner, options),
    ...defined({ approval }),
    ...toolCallers(owner, options.callers),
    ...toolCategory(owner, options.category),
    ...(options.execute === 'none' ? { notExecutable: true as const } : {}),
    execute,
  };
}

function checkName(name: unknown): string {
  if (name === undefined || name === '') throw new UsageError('a tool has no name: write "name"');
  if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
    throw new UsageError(`tool ${JSON.stringify(name)}: providers refuse this name: use 1 to 64 letters, digits, "_" or "-"`);
  }
  if (RESERVED_TOOL_NAMES.includes(name) || name.startsWith('__temporal')) {
    throw new UsageError(`tool "${name}": this name is reserved: give the tool another one`);
  }
  return name;
}

function updatesField(owner: string, updates: unknown): Pick<ToolDefinition, 'updates'> {
  if (updates === undefined) return {};
  if (typeof updates === 'boolean') return { updates };
  if (!Array.isArray(updates) || updates.length === 0 || updates.some((key) => typeof key !== 'string' || key === '')) {
    throw new UsageError(`${owner} is ${JSON.stringify(updates)}: write true, false, or the keys of deps and state that its calls change`);
  }
  return { updates: [...new Set(updates as string[])] };
}

function checkLabel(owner: string, label: unknown): string {
  const text = nonEmpty(owner, label);
  if (text.length > MAX_LABEL_LENGTH) {
    throw new UsageError(`${owner} has ${text.length} characters: write at most ${MAX_LABEL_LENGTH}`);
  }
  if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new UsageError(`${owner} is ${JSON.stringify(text)}: write one line of text`);
  return text;
}

/** Versions that fit on a line of records and lists. */
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;

function checkVersion(owner: string, version: unknown): string {
  if (typeof version === 'string' && VERSION.test(version)) return version;
  throw new UsageError(
    `${owner} is ${JSON.stringify(version)}: write a text of 1 to 64 letters, digits, ".", "_", "+" or "-" that begins with a letter or digit`,
  );
}

function parametersSchema(owner: string, parameters: z.ZodType): JsonObject {
  requireZod(`${owner}: "parameters"`, parameters);
  const schema = jsonSchemaOf(parameters, `${owner}: parameters`);
  if (!isObjectSchema(schema)) throw new UsageError(`${owner}: parameters are not an object schema: write z.object({...})`);
  return schema;
}

/** The default `parameters`: the model's question as text. */
const QUESTION = z.object({ question: z.string().describe('What you want to know, in full: the person sees nothing else.') });

/** The options of `askHuman`. */
export interface AskHumanOptions<Answer extends z.ZodType, Parameters extends ObjectSchema> {
  /** Letters, digits, `_` and `-`, at most 64. Runs that wait for an answer can be listed by it. */
  name: string;
  /** Tells the model what it can ask a person, and when to ask. */
  description: string;
  /** The schema of the question that the model asks. Default: `{question: string}`. */
  parameters?: Parameters;
  /** The schema of the answer: `z.string()`, a `z.enum([...])` of choices, an object for a form. Checked before the answer is accepted. */
  answer: Answer;
  /** How long the question waits; afterwards the model reads that there is no answer. Default: the agent's, else unlimited. */
  deadline?: Duration;
  /** The callers of the tool, as for any other: `model`, `code`, or both. Default: both. */
  callers?: readonly ToolCaller[];
}

const ASK_HUMAN_OPTIONS: OptionTable<AskHumanOptions<z.ZodType, ObjectSchema>> = {
  name: true,
  description: true,
  parameters: true,
  answer: true,
  deadline: true,
  callers: true,
};

/**
 * Defines a tool that lets a model ask a person. It has no code: each call waits, and the answer that a person sends
 * (`respond`) becomes its result. Throws a `UsageError` that names the tool and the option if one cannot work, such as an
 * answer that JSON cannot represent.
 *
 * @example
 * const askSupport = askHuman({
 *   name: 'ask_support',
 *   description: 'Asks a colleague in support. Use it when the order does not say enough.',
 *   answer: z.object({ refund: z.boolean(), note: z.string() }),
 *   deadline: '2d',
 * });
 */
export function askHuman<Answer extends z.ZodType, Parameters extends ObjectSchema = typeof QUESTION>(
  options: AskHumanOptions<Answer, Parameters>,
): ToolDefinition<z.output<Parameters>, Record<string, unknown>, z.input<Answer>> {
  const { name, description, answer, deadline, callers } = options;
  const owner = `tool "${name}"`;
  const execute = (): never => {
    throw new LonghaulError('internal', `"${name}" asks a person: its calls are answered with respond, and never run`);
  };
  // Never approved at the deadline, even if that is the agent's default: a question without an answer has no result.
  const approval = {
    onDeadline: 'reject' as const,
    ...(deadline === undefined ? {} : { deadline: milliseconds(deadline, `${owner}: "deadline"`) }),
  };
  const tool = defineTool({
    name,
    description,
    parameters: options.parameters ?? QUESTION,
    execute,
    approval,
    ...defined({ callers }),
  });
  requireKnown(owner, options, ASK_HUMAN_OPTIONS);
  return { ...tool, answer: answerSchema(owner, answer) };
}

/** Returns the JSON Schema of the answer. An answer is never parsed with zod, so a check that JSON Schema cannot express would not apply. */
function answerSchema(owner: string, answer: z.ZodType): JsonObject {
  requireZod(`${owner}: "answer"`, answer);
  const schema = jsonSchemaOf(answer, `${owner}: answer`);
  jsonSchemaOf(answer, `${owner}: answer`, 'output');
  if (!hasRefinement(answer)) return schema;
  throw new UsageError(
    `${owner}: answer has a check in code (refine, check), which is not applied to answers: express it only in the schema`,
  );
}

function hasRefinement(answer: z.ZodType): boolean {
  let found = false;
  z.toJSONSchema(answer, {
    unrepresentable: 'any',
    override: ({ zodSchema }) => {
      const { def } = zodSchema._zod;
      found ||=
        'checks' in def && Array.isArray(def.checks) && def.checks.some((check: z.core.$ZodCheck) => check._zod.def.check === 'custom');
    },
  });
  return found;
}

/** The options of a tool with `execute: 'none'`. All others are for the execution of calls. */
const SCHEMA_ALONE_OPTIONS: readonly string[] = ['name', 'description', 'version', 'parameters', 'strict', 'execute', 'callers'];

/**
 * Returns the `execute` of a tool that is only a schema. It is called only for runs that began when the tool had a function. Throws
 * a UsageError for options that would have no effect.
 */
function schemaAlone(name: string, options: object): () => never {
  const [useless] = Object.entries(options).find(([option, value]) => value !== undefined && !SCHEMA_ALONE_OPTIONS.includes(option)) ?? [];
  if (useless !== undefined) {
    throw new UsageError(`tool "${name}": "${useless}" has no effect with "execute": "none": leave it out, or write a function`);
  }
  return () => {
    throw new ToolFailure(notExecutable(name));
  };
}

/**
 * Names that a tool must not have: the tools for structured answers and code, the pseudo-tool of a limit that waits for a person,
 * Longhaul's own activities, and the catch-all activity for unknown types.
 */
export const RESERVED_TOOL_NAMES: readonly string[] = [FINAL_ANSWER, RUN_CODE, RAISE_LIMITS, 'default', ...Object.values(ACTIVITIES)];

/** Returns the category of a tool. Throws a UsageError for an unknown one. */
function toolCategory(owner: string, category: unknown): { category?: ToolCategory } {
  if (category === undefined) return {};
  const known = TOOL_CATEGORIES.find((one) => one === category);
  if (known !== undefined) return { category: known };
  throw new UsageError(`${owner}: "category" is ${JSON.stringify(category)}: write one of ${TOOL_CATEGORIES.join(', ')}`);
}
