import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { callable, runHooks } from '../../../activities/hooks/hooks.ts';
import type { ToolResult } from '../../../src/core/domain/content.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { HOOK_EVENTS, type HookEvent, isBlocking } from '../../../src/core/domain/hooks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { checkPermissions, type PermissionMode, type PermissionRule, type Permissions } from '../../../src/core/domain/permissions.ts';
import { resultText } from '../../../src/core/domain/tool-calls.ts';
import { checkJson, type JsonProblem } from '../../../src/core/json-schema/check-json-schema.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { type AnyHook, defineHook, type HookAnswer } from '../../../src/define/hooks.ts';
import { plainPermissions } from '../../../src/define/permissions.ts';
import { ToolFailure } from '../../../src/define/tool-definition.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import { CaseProblem, flag, list, number, object, only, type Operation, said, text } from './adapter.ts';
import { runWithKit } from './kit-run.ts';

/** Arguments against a schema. */
export const validateArguments: Operation = {
  input: ['schema', 'args'],
  expect: ['ok', 'error_text', 'fields'],
  perform: ({ schema, args = null }) => {
    const problems = inTheirOrder(checkJson(object(schema), args));
    // Nous names the missing fields alone, if there are any.
    const missing = problems.filter(isMissing);
    const listed = missing.length > 0 ? missing : problems;
    return problems.length === 0 ? { ok: true } : { error_text: validationText(problems, args), fields: listed.map(fieldOf) };
  },
};

/** Nous lists the problems by field name, or by position in a list; a nested field follows its object. */
function inTheirOrder(problems: readonly JsonProblem[]): JsonProblem[] {
  return problems.toSorted(({ path: one }, { path: other }) => comparePaths(segments(one), segments(other)));
}

function segments(path: string): string[] {
  return path.split(/[.[\]]+/).filter((segment) => segment !== '');
}

function comparePaths([one, ...rest]: string[], [other, ...others]: string[]): number {
  if (one === undefined || other === undefined) return Number(one !== undefined) - Number(other !== undefined);
  if (one === other) return comparePaths(rest, others);
  const areIndexes = /^\d+$/.test(one) && /^\d+$/.test(other);
  return areIndexes ? Number(one) - Number(other) : one < other ? -1 : 1;
}

const REFUSED = /^Invalid arguments for '(.*?)': (.*)$/s;

/** Returns the product's text about a call with invalid arguments in the words of Nous; undefined for any other text. */
export function invalidArgumentsText(message: string, args: JsonValue): string | undefined {
  const [, name, listed] = REFUSED.exec(message) ?? [];
  if (listed === undefined) return undefined;
  const problems = inTheirOrder(listed.split('; ').map(readProblem));
  return `Invalid arguments for '${name}': ${validationText(problems, args)}`;
}

function readProblem(problem: string): JsonProblem {
  const [, path = '', message = problem] = /^([^\s:]+): (.*)$/s.exec(problem) ?? [];
  return { path, message };
}

/** Nous names the missing fields first, and alone if there are any. */
function validationText(problems: readonly JsonProblem[], args: JsonValue): string {
  const missing = problems.filter(isMissing);
  if (missing.length > 0) return `Missing required fields: ${missing.map(fieldOf).join(', ')}`;
  return `Type mismatch: ${problems.map((problem) => `${problem.path}: ${withTheirKind(problem, args)}`).join('; ')}`;
}

const TYPE = /^(expected (?:string|integer|number|boolean|array|object|null), got )(.*)$/s;

/**
 * For a number of another type, the product says "number", and it quotes a number that is not an integer: Nous names its type. A list of
 * values is an enumeration in Nous.
 */
function withTheirKind({ path, message }: JsonProblem, args: JsonValue): string {
  const [, expected, got = ''] = TYPE.exec(message) ?? [];
  if (expected === undefined)
    return message.replace(/^expected (.*), got /s, (_, values: string) => `expected enum:${asList(values)}, got `);
  if (!/^(number|-?\d.*)$/.test(got)) return message;
  const found = segments(path).reduce(memberOf, args);
  return `${expected}${Number.isInteger(found) ? 'integer' : 'number'}`;
}

function memberOf(value: JsonValue, name: string): JsonValue {
  if (Array.isArray(value)) return value[Number(name)] ?? null;
  return isJsonObject(value) ? (value[name] ?? null) : null;
}

/** `"a", "b" or 3` as a list. */
function asList(values: string): string {
  return `[${(values.match(/"(?:[^"\\]|\\.)*"|[^\s,]+/g) ?? []).filter((value) => value !== 'or').join(', ')}]`;
}

const MISSING = /^missing required field "(.*)"$/;

function isMissing({ message }: JsonProblem): boolean {
  return MISSING.test(message);
}

function fieldOf({ path, message }: JsonProblem): string {
  const [, name] = MISSING.exec(message) ?? [];
  return name === undefined ? path : [path, name].filter((part) => part !== '').join('.');
}

/** One call of a tool, with the attempts that its policy allows. */
export const executeTool: Operation = {
  input: ['tool', 'behaviour', 'args'],
  expect: ['ok', 'error', 'attempts', 'ctx_retry'],
  perform: executeNousTool,
};

const TOOL = ['name', 'retries', 'timeout_ms', 'parameters', 'validate_args'];

async function executeNousTool({ tool, behaviour, args }: JsonObject): Promise<JsonObject> {
  const { name, retries, timeout_ms, parameters, validate_args } = only('A tool', tool ?? {}, TOOL);
  const called = text(name, 'x');
  const timeoutMs = number(timeout_ms, 30_000);
  const seen: number[] = [];
  const steps = list(behaviour).map((step) => only('A behaviour', step, ['ok', 'throw', 'error', 'hang']));
  const checked = defineTool({
    name: called,
    description: 'Behaves as the case says.',
    parameters: validate_args === false ? z.looseObject({}) : parametersOf(object(parameters ?? {})),
    timeout: timeoutMs,
    maxAttempts: number(retries, 1) + 1,
    execute: (_, context) => {
      seen.push(context.retry);
      return behave(steps[seen.length - 1] ?? steps.at(-1) ?? {}, timeoutMs);
    },
  });
  const agent = defineAgent({ name: 'a', model: 'scripted/model', instructions: [], tools: [checked] });
  const script = [callTool(called, args ?? {}), say('done')];
  const { events } = await atTheirTime(() => runWithKit({ agent, script, input: 'Q', steps: 2, timeout: '1d' }));
  const result = events.flatMap(({ content }) => content).find((item) => item.type === 'tool_result');
  if (result === undefined) throw new Error('The run has no result of the call');
  return { ...toTheirOutcome(result, seen.length, args ?? {}), ctx_retry: seen };
}

/** A schema of the case, passed to the product unchanged: the product finds out which values fit it. */
function parametersOf(schema: JsonObject): z.ZodObject<z.core.$ZodLooseShape> {
  return z.looseObject({}).meta(schema);
}

function toTheirOutcome({ status, content }: ToolResult, attempts: number, args: JsonValue): JsonObject {
  if (status === 'success') return { ok: content[0] ?? null, attempts };
  const message = resultText(content);
  const invalid = invalidArgumentsText(message, args);
  if (invalid !== undefined) return { error: { kind: 'validation_error', message: invalid, attempts } };
  return { error: { kind: TIMED_OUT.test(message) ? 'tool_timeout' : 'tool_error', message, attempts } };
}

const TIMED_OUT = /^Tool '.*' timed out after /;

function behave({ throw: thrown, error, hang, ok = null }: JsonObject, timeoutMs: number): JsonValue | Promise<JsonValue> {
  if (thrown !== undefined) throw new Error(said(thrown));
  // Nous does not try a call again that returned an error.
  if (error !== undefined) throw new ToolFailure(said(error));
  return hang === true ? hangUntil(timeoutMs) : ok;
}

/** Moves the clock to the end of the attempt. */
async function hangUntil(timeoutMs: number): Promise<never> {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  mock.timers.tick(timeoutMs);
  return new Promise(() => undefined);
}

/** No other timer runs during an attempt: the clock stands still unless a tool hangs. */
async function atTheirTime<Result>(run: () => Promise<Result>): Promise<Result> {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    return await run();
  } finally {
    mock.timers.reset();
  }
}

/** Operation `hooks.run`: the hooks of one event. */
export const hooksRun: Operation = { input: ['event', 'hooks', 'payload'], expect: ['result', 'ran'], perform };

async function perform({ event, hooks, payload }: JsonObject): Promise<JsonObject> {
  const on = eventOf(event);
  const never = new AbortController().signal;
  const context = {
    runId: 'r',
    agent: 'a',
    deps: () => Promise.resolve({}),
    principal: () => Promise.resolve({}),
    events: () => Promise.resolve({ events: [], firstOffset: 0, total: 0 }),
    resources: () => Promise.resolve({}),
    signal: never,
  };
  const defined = list(hooks).map((hook, index) => callable(toHook(on, hook, index), () => context, never));
  const { tool_name: toolName, ...rest } = object(payload ?? {});
  const outcome = await runHooks({ on, payload: { ...rest, ...(toolName === undefined ? {} : { toolName }) } }, defined);
  const { result, changes } = outcome;
  if (result.type === 'deny') return { result: result.text === undefined ? 'deny' : { deny: result.text }, ran: outcome.ran };
  return { result: changes === undefined ? 'allow' : { modify: changes }, ran: outcome.ran };
}

const KEYS = ['returns', 'throws', 'matcher', 'priority', 'fail_closed', 'name'];

/** Returns the hooks of an agent: a list of hooks that each name their event, or lists by event. */
export function toHooks(hooks: JsonValue | undefined): AnyHook[] {
  const given = isJsonObject(hooks)
    ? Object.entries(hooks).flatMap(([event, ofEvent]) => list(ofEvent).map((hook) => ({ event, ...object(hook) })))
    : list(hooks).map((hook) => object(hook));
  return given.map(({ event, ...hook }, index) => toHook(eventOf(event), hook, index));
}

function eventOf(event: JsonValue | undefined): HookEvent {
  const on = HOOK_EVENTS.find((one) => one === event);
  if (on === undefined) throw new CaseProblem(`There is no event ${JSON.stringify(event)}`);
  return on;
}

function toHook(on: HookEvent, hook: JsonValue, index: number): AnyHook {
  const { returns, throws, matcher, priority, fail_closed: failClosed, name = `hook-${index}` } = only('A hook', hook, KEYS);
  return defineHook({
    name: typeof name === 'string' ? name : JSON.stringify(name),
    on,
    ...(matcher === undefined || matcher === null ? {} : { match: match(matcher) }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    // The product refuses it where a deny means nothing, which has no effect either.
    ...(failClosed === true && isBlocking(on) ? { failClosed } : {}),
    run: () => {
      if (throws !== undefined) throw new Error(typeof throws === 'string' ? throws : JSON.stringify(throws));
      return returns as HookAnswer;
    },
  });
}

/** Translates a matcher. A predicate is written as the fields that it asks for. */
function match(matcher: JsonValue): string | RegExp | ((payload: object) => boolean) {
  if (typeof matcher === 'string') return matcher;
  if (isJsonObject(matcher) && typeof matcher['$regex'] === 'string') return new RegExp(matcher['$regex']);
  if (isJsonObject(matcher) && isJsonObject(matcher['$predicate'])) {
    const asked = Object.entries(matcher['$predicate']);
    return (payload) => {
      const fields = new Map<string, unknown>(Object.entries(payload));
      return asked.every(([key, value]) => fields.get(key === 'tool_name' ? 'toolName' : key) === value);
    };
  }
  throw new CaseProblem(`There is no matcher ${JSON.stringify(matcher)}`);
}

const POLICY_KEYS = ['mode', 'deny', 'deny_prefixes', 'allow', 'allow_prefixes', 'approval_required', 'allow_unattended_execute'];

/** The verdict of a policy on a tool. */
export const checkPolicy: Operation = {
  input: ['policy', 'tool', 'category'],
  expect: ['blocked', 'requires_approval'],
  perform({ policy, tool, category }: JsonObject): JsonObject {
    // A policy of a case has not been through its definition: its mode may be any.
    return toVerdict(toPermissions(policy), text(tool), text(category) || undefined);
  },
};

/** The definition of a policy, which an unknown mode fails. */
export const buildPolicy: Operation = {
  input: POLICY_KEYS,
  expect: ['error'],
  perform(input: JsonObject): JsonObject {
    try {
      plainPermissions('case', toPermissions(input));
      return { error: false };
    } catch (error) {
      if (error instanceof UsageError) return { error: true };
      throw error;
    }
  },
};

function toVerdict(permissions: Permissions, tool: string, category: string | undefined): JsonObject {
  const { denied, asked } = checkPermissions(permissions, { tool, category });
  return { blocked: denied !== undefined, requires_approval: asked !== undefined };
}

function toPermissions(policy: JsonValue | undefined): Permissions {
  const fields = only('A policy', policy, POLICY_KEYS);
  const rules = (key: string, prefixed?: string): PermissionRule[] =>
    [...names(fields[key]), ...(prefixed === undefined ? [] : prefixes(fields[prefixed]))].map((tool) => ({ tool }));
  const allow = rules('allow', 'allow_prefixes');
  return {
    mode: text(fields['mode'], 'default') as PermissionMode,
    deny: rules('deny', 'deny_prefixes'),
    // An empty list of the case counts as no list.
    ...(allow.length === 0 ? {} : { allow }),
    approvalRequired: rules('approval_required'),
    ...(flag(fields['allow_unattended_execute']) ? { allowUnattendedExecute: true as const } : {}),
  };
}

/** Names of the case are not globs: wildcard characters are taken literally. */
function names(given: JsonValue | undefined): string[] {
  return list(given).map((name) => text(name).replace(/[*?\\]/g, '\\$&'));
}

function prefixes(given: JsonValue | undefined): string[] {
  return names(given).map((prefix) => `${prefix}*`);
}
