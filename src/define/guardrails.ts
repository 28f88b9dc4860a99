import type { z } from 'zod';
import type { ContentItem } from '../core/domain/content.ts';
import { UsageError } from '../core/domain/errors.ts';
import { GUARDRAIL_TYPES, type GuardrailType } from '../core/domain/guardrails.ts';
import { defined, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { type ModelName, modelName } from '../core/domain/model.ts';
import type { Principal } from '../core/domain/run.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import { type AgentPart, type BundledPart, mergedList } from './agent-part.ts';
import type { ReadEvents, Resources } from './context.ts';
import { nonEmpty, type OptionTable, requireKnown, wholeNumber } from './option-checks.ts';

/** The options of every guardrail, including the prebuilt ones. */
export interface CommonGuardrailOptions<Type extends GuardrailType> {
  /** Names the guardrail in results and records. Unique among an agent's guardrails of the same type. */
  name: string;
  /** The subject of its checks: `input`, `output` or `tool_call`. */
  type: Type;
  /** True to let content pass if the check itself fails. Default false: a check that fails trips. */
  failOpen?: boolean;
  /** The time limit of one check: at most 10 minutes, for a tool call at most 30 seconds. Default 30 seconds. */
  timeout?: Duration;
}

/** The options of `defineGuardrail`. */
export interface GuardrailOptions<Type extends GuardrailType> extends CommonGuardrailOptions<Type> {
  /** The models that `context.ask` may call, as `provider/model`. */
  models?: readonly ModelName[];
  /** Checks a message, an answer or a call. Runs in an activity of the worker, at least once. */
  check: (context: GuardrailContexts[Type]) => GuardrailAnswer | Promise<GuardrailAnswer>;
}

const GUARDRAIL_OPTIONS: OptionTable<GuardrailOptions<'input'>> = {
  name: true,
  type: true,
  failOpen: true,
  timeout: true,
  models: true,
  check: true,
};

const GUARDRAIL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const DEFAULT_TIMEOUT = '30s';

/** The longest time limits in milliseconds. Short for tool calls: a model call that was already paid for waits for their checks. */
const MOST_TIMEOUT_MS: Record<GuardrailType, number> = { input: 600_000, output: 600_000, tool_call: 30_000 };

/**
 * Defines a guardrail: a check of messages, answers or tool calls that can trip. Throws a UsageError for options that cannot work.
 *
 * @example
 * ```ts
 * const noPrices = defineGuardrail({
 *   name: 'no-prices',
 *   type: 'output',
 *   check: ({ text }) => (text.includes('€') ? { passed: false, message: 'The answer names a price' } : { passed: true }),
 * });
 * ```
 */
export function defineGuardrail<const Type extends GuardrailType>(options: GuardrailOptions<Type>): GuardrailDefinition<Type> {
  const { name, type, failOpen = false, timeout = DEFAULT_TIMEOUT, models = [], check } = options;
  if (typeof name !== 'string' || !GUARDRAIL_NAME.test(name)) {
    throw new UsageError(`guardrail ${JSON.stringify(name) ?? 'without a name'}: use 1 to 64 letters, digits, "_" or "-" as "name"`);
  }
  const owner = `guardrail "${name}"`;
  requireKnown(owner, options, GUARDRAIL_OPTIONS);
  if (!GUARDRAIL_TYPES.includes(type)) {
    throw new UsageError(`${owner}: "type" is ${JSON.stringify(type)}: write "input", "output" or "tool_call"`);
  }
  if (typeof check !== 'function') throw new UsageError(`${owner}: "check" is missing: write a function that returns {passed, message}`);
  if (typeof failOpen !== 'boolean') throw new UsageError(`${owner}: "failOpen" is ${JSON.stringify(failOpen)}: write true or false`);
  if (!Array.isArray(models)) throw new UsageError(`${owner}: "models" must be a list of texts such as "openai/gpt-5"`);
  const timeoutMs = timerMilliseconds(timeout, `${owner}: "timeout"`);
  if (timeoutMs < 1 || timeoutMs > MOST_TIMEOUT_MS[type]) {
    throw new UsageError(
      `${owner}: "timeout" is ${timeoutMs} ms: choose 1 ms to ${MOST_TIMEOUT_MS[type] / 1_000} s for a guardrail of type "${type}"`,
    );
  }
  return Object.freeze({
    kind: 'longhaul.guardrail',
    name,
    type,
    failOpen,
    timeoutMs,
    models: models.map((model, index) => modelName(owner, nonEmpty(`${owner}: "models[${index}]"`, model))),
    check: check,
  });
}

/**
 * The answer of a check. `message` describes the finding, for people and, for a tool call, the model. `trips: false`: the finding is
 * recorded, and the content passes.
 */
export type GuardrailAnswer =
  | { readonly passed: true; readonly message?: string }
  | { readonly passed: false; readonly message: string; readonly trips?: boolean };

/** The tool call that a guardrail checks. */
export interface CheckedCall {
  /** The id of the call. */
  readonly id: string;
  /** The name of the tool. */
  readonly name: string;
  /** The arguments, which fit the schema of the tool. */
  readonly arguments: JsonObject;
}

/** The context of every check. */
export interface GuardrailContext {
  /** The text to check: the new messages, the answer, or the arguments of the call as JSON. */
  readonly text: string;
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<JsonObject>;
  /** The identity on whose behalf the run acts. Read-only. */
  readonly principal: Readonly<Principal>;
  /** The run's state. Read-only. */
  readonly state: Readonly<JsonObject>;
  /** The resources of the worker. */
  readonly resources: Resources;
  /** Reads recorded events of the run: the newest 20, or those that the options name. Rejects in guardrails for calls of local code. */
  readonly events: ReadEvents;
  /** The name of the agent. */
  readonly agent: string;
  /** The id of the run. */
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
  /** Distinguishes the contexts. */
  readonly type: 'input';
  /** The user messages that no guardrail has checked yet. */
  readonly messages: readonly Extract<ContentItem, { type: 'message' }>[];
}

/** The context of a check of an answer. */
export interface OutputContext extends GuardrailContext {
  /** Distinguishes the contexts. */
  readonly type: 'output';
  /** The proposed output of the run. */
  readonly output: JsonValue;
}

/** The context of a check of a tool call. */
export interface ToolCallContext extends GuardrailContext {
  /** Distinguishes the contexts. */
  readonly type: 'tool_call';
  /** The call to check. */
  readonly call: CheckedCall;
}

/** The context of a check, by the type of the guardrail. */
export interface GuardrailContexts {
  /** For a guardrail that checks messages of users. */
  input: InputContext;
  /** For a guardrail that checks answers. */
  output: OutputContext;
  /** For a guardrail that checks calls of tools. */
  tool_call: ToolCallContext;
}

/** A guardrail as `defineGuardrail` returns it. */
export interface GuardrailDefinition<Type extends GuardrailType = GuardrailType> {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.guardrail';
  /** The name in records and errors. */
  readonly name: string;
  /** What it checks: `input`, `output` or `tool_call`. */
  readonly type: Type;
  /** True: content passes if the check itself fails. False: a check that fails trips. */
  readonly failOpen: boolean;
  /** Milliseconds that a check may take. */
  readonly timeoutMs: number;
  /** The models that it may ask, as `provider/model`. */
  readonly models: readonly ModelName[];
  /** The check. `defineGuardrail` has checked its type. */
  readonly check: (context: never) => unknown;
}

/** A guardrail of any type. */
export type AnyGuardrail = GuardrailDefinition;

/** Each pattern reads a text in linear time: no repetition inside another. */
const PERSONAL_DATA_PATTERNS = {
  email: /[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/,
  phone: /(?<!\d)(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\)|\d{3})[ .-]?\d{3}[ .-]?\d{4}(?!\d)/,
  ssn: /(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)/,
  credit_card: /(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)/,
  ip_address: /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/,
} as const;

/** A kind of personal data. @useDeclaredType */
export type PersonalDataKind = keyof typeof PERSONAL_DATA_PATTERNS;

const PERSONAL_DATA_KINDS = Object.keys(PERSONAL_DATA_PATTERNS) as PersonalDataKind[];

/** The options of `personalData`. */
export interface PersonalDataOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `personal-data`. */
  name?: string;
  /** Default: all of `email`, `phone`, `ssn`, `credit_card` and `ip_address`. */
  kinds?: readonly PersonalDataKind[];
}

/** Defines a guardrail that trips on personal data. Its findings name the kinds, never the data. */
export function personalData<const Type extends GuardrailType>(options: PersonalDataOptions<Type>): GuardrailDefinition<Type> {
  const { kinds = PERSONAL_DATA_KINDS, name = 'personal-data', ...common } = options;
  const unknown = kinds.find((kind) => !PERSONAL_DATA_KINDS.includes(kind));
  if (unknown !== undefined || kinds.length === 0) {
    throw new UsageError(
      `guardrail "${name}": "kinds" has ${JSON.stringify(unknown) ?? 'none'}: choose of ${PERSONAL_DATA_KINDS.join(', ')}`,
    );
  }
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const found = kinds.filter((kind) => PERSONAL_DATA_PATTERNS[kind].test(text) && (kind !== 'credit_card' || hasCardNumber(text)));
      return found.length === 0 ? { passed: true } : { passed: false, message: `It contains personal data: ${found.join(', ')}` };
    },
  } as never);
}

/** True if the text has a number with the length and the check digit (Luhn) of a card. */
function hasCardNumber(text: string): boolean {
  return [...text.matchAll(new RegExp(PERSONAL_DATA_PATTERNS.credit_card, 'g'))].some(([match]) => isLuhn(match.replace(/\D/g, '')));
}

function isLuhn(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of digits.split('').toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/** Wordings of attacks, matched against the text in lower case with single spaces. */
const ATTACKS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget) (?:all |any )?(?:of )?(?:the |your |my )?(?:previous|prior|above|earlier) (?:instructions|prompts?|rules|messages)\b/,
  /\b(?:ignore|disregard|forget) (?:all |everything )?(?:you were told|your (?:instructions|rules|guidelines))\b/,
  /\byou are (?:now|no longer) (?:a |an |in )?(?:dan|developer mode|unrestricted|jailbroken|bound by)\b/,
  /\b(?:pretend|act as if|behave as though) (?:to be |that )?you (?:are|have|had) (?:no|not|without|free of) /,
  /\b(?:reveal|show|print|repeat|output) (?:me )?(?:your |the )(?:system prompt|initial instructions|hidden instructions|system message)\b/,
  /(?:^|\n) ?(?:\[?system\]?|<\|?(?:system|im_start)\|?>) ?:?/,
  /\bnew instructions ?: ?/,
];

/** The options of `promptInjection`. */
export interface PromptInjectionOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `prompt-injection`. */
  name?: string;
}

/**
 * Defines a guardrail that trips on common wordings of prompt injection. It knows wordings, not meanings: it is not sufficient protection
 * by itself.
 */
export function promptInjection<const Type extends GuardrailType>(options: PromptInjectionOptions<Type>): GuardrailDefinition<Type> {
  const { name = 'prompt-injection', ...common } = options;
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const plain = text
        .normalize('NFKC')
        .toLowerCase()
        .replace(/[^\S\n]+/g, ' ');
      const isAttack = ATTACKS.some((pattern) => pattern.test(plain));
      return isAttack ? { passed: false, message: 'It tries to change the instructions of the agent' } : { passed: true };
    },
  } as never);
}

/** The options of `contentFilter`. */
export interface ContentFilterOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `content-filter`. */
  name?: string;
  /** Words and phrases that must not occur, ignoring case. */
  keywords?: readonly string[];
  /** Patterns that must not match. They read untrusted text: a pattern that takes longer than a second fails the check. */
  patterns?: readonly RegExp[];
}

/** The part of Node that can interrupt a pattern. Node's types are missing where this file is compiled for the sandbox. */
declare const process: {
  getBuiltinModule(name: 'node:vm'): {
    createContext: (values: object) => object;
    runInContext: (code: string, context: object, options: { timeout: number }) => unknown;
  };
};

/** Milliseconds that a user's pattern may take for one text. The worker does nothing else meanwhile. */
const PATTERN_MS = 1_000;

/** The `vm` context in which users' patterns run. Kept, because making one takes longer than most patterns. */
let patternContext: object | undefined;

/** True if a user's pattern matches an untrusted text. Throws if it takes too long: the check has then failed. */
function matches(pattern: RegExp, text: string): boolean {
  const { createContext, runInContext } = process.getBuiltinModule('node:vm');
  patternContext = Object.assign(patternContext ?? createContext({}), { pattern, text });
  try {
    return runInContext('pattern.test(text)', patternContext, { timeout: PATTERN_MS }) === true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    const problem = `takes more than ${PATTERN_MS} ms for a text of ${text.length} characters`;
    throw new Error(`the pattern ${String(pattern)} ${problem}: write one that does not backtrack`, { cause: error });
  }
}

/** Defines a guardrail that trips on words and patterns. */
export function contentFilter<const Type extends GuardrailType>(options: ContentFilterOptions<Type>): GuardrailDefinition<Type> {
  const { keywords = [], patterns = [], name = 'content-filter', ...common } = options;
  if (keywords.length + patterns.length === 0) {
    throw new UsageError(`guardrail "${name}" filters nothing: give it "keywords" or "patterns"`);
  }
  const lower = keywords.map((keyword) => keyword.toLowerCase());
  const single = patterns.map(({ source, flags }) => new RegExp(source, flags.replace(/[gy]/g, '')));
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const keyword = keywords[lower.findIndex((one) => text.toLowerCase().includes(one))];
      if (keyword !== undefined) return { passed: false, message: `It contains "${keyword}"` };
      const pattern = single.find((one) => matches(one, text));
      return pattern === undefined ? { passed: true } : { passed: false, message: `It matches ${String(pattern)}` };
    },
  } as never);
}

/** The options of `maxTokens`. */
export interface MaxTokensOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `max-tokens`. */
  name?: string;
  /** The most tokens that a text may have. Four characters count as one. */
  limit: number;
  /** True to trip. Default false: a longer text is recorded, and passes. */
  trips?: boolean;
}

const CHARACTERS_PER_TOKEN = 4;

/** Defines a guardrail for the length of messages, answers or arguments. */
export function maxTokens<const Type extends GuardrailType>(options: MaxTokensOptions<Type>): GuardrailDefinition<Type> {
  const { limit, trips = false, name = 'max-tokens', ...common } = options;
  const most = wholeNumber(`guardrail "${name}": "limit"`, limit, 1);
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const tokens = Math.ceil(text.length / CHARACTERS_PER_TOKEN);
      return tokens <= most ? { passed: true } : { passed: false, message: `It has about ${tokens} tokens, more than ${most}`, trips };
    },
  } as never);
}

/** The options of `callRules`. */
export interface CallRulesOptions extends Omit<CommonGuardrailOptions<'tool_call'>, 'name' | 'type'> {
  /** Default `call-rules`. */
  name?: string;
  /** The tools that may be called. Default: all. */
  allow?: readonly string[];
  /** The tools that may not be called. */
  block?: readonly string[];
  /** Patterns that arguments must not match, by argument name, for any tool. A pattern may take up to a second. */
  arguments?: Readonly<Record<string, RegExp>>;
}

/** Defines a guardrail for the names and arguments of calls. The agent's own rules do the same without a check, for the whole run tree. */
export function callRules(options: CallRulesOptions): GuardrailDefinition<'tool_call'> {
  const { allow, block = [], arguments: patterns = {}, name = 'call-rules', ...common } = options;
  if (allow === undefined && block.length === 0 && Object.keys(patterns).length === 0) {
    throw new UsageError(`guardrail "${name}" has no rules: give it "allow", "block" or "arguments"`);
  }
  const rules = Object.entries(patterns).map(([key, { source, flags }]) => [key, new RegExp(source, flags.replace(/[gy]/g, ''))] as const);
  return defineGuardrail({
    ...common,
    name,
    type: 'tool_call',
    check: ({ call }: ToolCallContext) => {
      if (block.includes(call.name)) return { passed: false, message: `"${call.name}" is blocked` };
      if (allow?.includes(call.name) === false) return { passed: false, message: `"${call.name}" is not allowed` };
      const [key] =
        rules.find(
          ([argument, pattern]) => Object.hasOwn(call.arguments, argument) && matches(pattern, comparedText(call.arguments[argument])),
        ) ?? [];
      return key === undefined ? { passed: true } : { passed: false, message: `The argument "${key}" of "${call.name}" is blocked` };
    },
  });
}

function comparedText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** The agent option for guardrails. */
export interface AgentGuardrails {
  /** Checks of messages to the agent, of its answers, and of its tool calls. Made by `defineGuardrail` or a prebuilt function. */
  guardrails?: readonly AnyGuardrail[];
}

/** The agent field that holds its guardrails. */
export interface GuardrailFields {
  /** Its guardrails. Absent: none. */
  readonly guardrails?: readonly AnyGuardrail[];
}

/** Guardrails as a part of an agent. */
export const guardrailPart: AgentPart<AgentGuardrails, GuardrailFields> = {
  options: { guardrails: ['list of guardrails', 'none', '[checks](guardrails.md) of messages, answers and calls'] },
  define: (owner, { guardrails }) => (guardrails === undefined || checkGuardrails(owner, guardrails).length === 0 ? {} : { guardrails }),
  models: ({ guardrails = [] }) => guardrails.flatMap(({ models }) => models),
};

/** The guardrails that a bundle brings. */
export interface BundledGuardrails {
  /** Guardrails that are added. */
  readonly guardrails: readonly AnyGuardrail[];
}

/** Guardrails as a part of bundles. */
export const bundledGuardrails: BundledPart<AgentGuardrails, BundledGuardrails> = {
  options: { guardrails: true },
  define: (owner, { guardrails = [] }) => ({ guardrails: checkGuardrails(owner, guardrails) }),
  merge(owner, own, bundles) {
    const named = { what: 'a guardrail', nameOf: ({ name, type }: AnyGuardrail) => `"${name}" of type "${type}"` };
    return defined({ guardrails: mergedList(owner, own.guardrails, bundles, { of: ({ guardrails }) => guardrails, named }) });
  },
};

/** Returns the guardrails of an agent. Throws a UsageError for any other value, and for two with the same type and name. */
function checkGuardrails(owner: string, guardrails: readonly AnyGuardrail[]): readonly AnyGuardrail[] {
  if (!Array.isArray(guardrails)) throw new UsageError(`${owner}: "guardrails" must be a list: make its entries with defineGuardrail`);
  const names = new Set<string>();
  for (const guardrail of guardrails) {
    if (guardrail?.kind !== 'longhaul.guardrail') {
      throw new UsageError(`${owner}: "guardrails" has a value that is not a guardrail: make it with defineGuardrail`);
    }
    const { name, type } = guardrail as AnyGuardrail;
    const key = `${type} ${name}`;
    if (names.has(key)) throw new UsageError(`${owner} has two guardrails of type "${type}" named "${name}": give each its own name`);
    names.add(key);
  }
  return guardrails;
}
