import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type AgentSnapshot, toolOwner } from '../../src/core/domain/agent.ts';
import { BYTE_BUDGETS, cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { errorMessage, memberOf } from '../../src/core/domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import { type CheckedArguments, invalidArguments } from '../../src/core/json-schema/read-by-schema.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import type { ActivityRuntime } from '../runtime.ts';

// The arguments that a tool runs with, found before it runs: everything and everybody that decides about a call sees these.

/** The maximum bytes of JSON that parsing adds to the arguments of one call: they are recorded a second time. */
const ADDED_BYTES = 64_000;

/** The time limit, in milliseconds: functions of the user may be a part of the schema. */
const PARSE_MS = 30_000;

/**
 * Returns the arguments of a call as its tool will see them, if its schema may change them: with defaults, trimmed, coerced. A call whose
 * arguments the schema refuses, or whose tool this worker lacks, has a problem: nobody could say what it would run with.
 */
export async function parsedArguments(
  runtime: ActivityRuntime,
  snapshot: Pick<AgentSnapshot, 'name' | 'program' | 'checks' | 'tools'>,
  name: string,
  args: JsonObject,
): Promise<CheckedArguments> {
  const pinned = snapshot.tools.find((one) => one.name === name);
  if (!pinned?.changesArguments) return { args };
  const tool = runtime.registry.tool(toolOwner(snapshot), name);
  if (tool === undefined)
    return { args, problem: `No worker could say with which arguments '${name}' would run: this one lacks the tool.` };
  try {
    return await inTime(parseBy(runtime, tool, args));
  } catch (error) {
    return { args, problem: refusal(runtime, name, errorMessage(error)) };
  }
}

/** Settles like the work of a schema, or rejects if it takes too long. */
async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const over = new AbortController();
  const late = delay(PARSE_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`its schema gave no answer within ${PARSE_MS / 1000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}

/**
 * Returns the problem of arguments that do not fit the JSON Schema of a tool, in the words that its author has given to the checks of its
 * zod schema (`.regex(/^A-/, 'Use the form A-1')`), as far as there are any: JSON Schema has no place for them.
 */
export async function problemInOwnWords(
  runtime: ActivityRuntime,
  snapshot: Pick<AgentSnapshot, 'name' | 'program' | 'tools'>,
  { name, arguments: args }: { name: string; arguments: JsonObject },
  problem: string,
): Promise<string> {
  const tool = problem.startsWith(invalidArguments(name, '')) ? runtime.registry.tool(toolOwner(snapshot), name) : undefined;
  if (tool === undefined) return problem;
  const parsed = await inTime(tool.parameters.safeParseAsync(args)).catch(() => undefined);
  const own = (parsed?.error?.issues ?? []).filter((issue) => isInOwnWords(issue, args));
  if (own.length === 0) return problem;
  const told = own.map(({ path, message }) => ({ path: z.core.toDotPath(path), message }));
  const others = checkJson(tool.schema, args).filter(({ path }) => !told.some((one) => one.path === path));
  return refusal(runtime, name, problemsText([...others, ...told]));
}

/** True for an issue with a message of the author of the schema, and not of zod. */
function isInOwnWords(issue: z.core.$ZodIssue, args: JsonObject): boolean {
  const input = issue.path.reduce<unknown>((value, key) => memberOf(value, String(key)), args);
  const words = z.config().localeError?.({ ...issue, input } as z.core.$ZodRawIssue);
  return issue.message !== (typeof words === 'string' ? words : words?.message);
}

/** Secrets are redacted before the text is cut: part of a secret would not be found. */
function refusal({ secrets }: ActivityRuntime, name: string, problem: string): string {
  return cutText(secrets.redact(invalidArguments(name, problem).toWellFormed()), BYTE_BUDGETS.errorMessage);
}

async function parseBy(runtime: ActivityRuntime, tool: AnyTool, args: JsonObject): Promise<CheckedArguments> {
  const parse: Parse = (given) => tool.parameters.safeParseAsync(given);
  const parsed = await parse(args);
  if (!parsed.success) return { args, problem: refusal(runtime, tool.name, z.prettifyError(parsed.error)) };
  const isOpen = (text: string): boolean => runtime.secrets.redact(text) === text;
  const known = await shownArguments(args, parsed.data, parse, isOpen);
  if (checkJson(tool.schema, known).length > 0) return { args };
  const added = jsonBytes(known) - jsonBytes(args);
  return added <= ADDED_BYTES ? { args: known } : { args, problem: tooLong(tool.name, added) };
}

function tooLong(name: string, added: number): string {
  return `The schema of '${name}' adds ${added} bytes of JSON to the arguments, over ${ADDED_BYTES}: it was not called.`;
}

type Parse = (given: JsonObject) => Promise<z.ZodSafeParseResult<unknown>>;

/**
 * Returns the arguments to show: JSON that parses to what the given arguments parse to. They are the parsed ones, except for values that are
 * no JSON (a `Date`), that would parse to something else a second time (a length in place of its text), or that contain a secret of the
 * worker: those stay as given.
 */
async function shownArguments(given: JsonObject, parsed: unknown, parse: Parse, isOpen: (text: string) => boolean): Promise<JsonObject> {
  const whole = readable(given, parsed, isOpen);
  if (!isFields(parsed) || whole === undefined || !isJsonObject(whole)) return given;
  if (isDeepStrictEqual(dataOf(await parse(whole)), parsed)) return whole;
  let shown = given;
  for (const [key, value] of Object.entries(whole)) {
    const next = { ...shown, [key]: value };
    const data = dataOf(await parse(next));
    if (isFields(data) && isDeepStrictEqual(data[key], parsed[key])) shown = next;
  }
  return shown;
}

function dataOf(parsed: z.ZodSafeParseResult<unknown>): unknown {
  return parsed.success ? parsed.data : undefined;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns a parsed value as JSON, with what was given in place of what is no JSON; undefined if nothing was given there. */
function readable(given: JsonValue | undefined, parsed: unknown, isOpen: (text: string) => boolean): JsonValue | undefined {
  if (parsed === null || typeof parsed === 'boolean') return parsed;
  if (typeof parsed === 'string') return parsed.isWellFormed() && isOpen(parsed) ? parsed : given;
  // A negative zero becomes zero in JSON.
  if (typeof parsed === 'number') return Number.isFinite(parsed) ? parsed + 0 : given;
  if (Array.isArray(parsed)) {
    const before = Array.isArray(given) && given.length === parsed.length ? given : [];
    const items = parsed.map((one, index) => readable(before[index], one, isOpen));
    return items.every((one) => one !== undefined) ? items : given;
  }
  if (!isFields(parsed) || !isPlain(parsed) || isTooDeep(parsed)) return given;
  const before = isJsonObject(given ?? null) ? (given as JsonObject) : {};
  const fields = Object.entries(parsed).flatMap(([key, one]): [string, JsonValue][] => {
    const value = readable(Object.hasOwn(before, key) ? before[key] : undefined, one, isOpen);
    return value === undefined ? [] : [[key, value]];
  });
  return cleanJson(Object.fromEntries(fields));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
