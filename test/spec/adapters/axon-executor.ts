import { z } from 'zod';
import { anchorInstruction, BUILT_IN_ANCHORS } from '../../../src/anchors/anchors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import type { UnitResult } from '../../../src/core/domain/program-run.ts';
import type { ReasoningEffort } from '../../../src/core/domain/reasoning-effort.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { unknownTool } from '../../../src/core/domain/tool-calls.ts';
import type { TraceSpan } from '../../../src/core/domain/trace.ts';
import type { StepError } from '../../../src/core/domain/verdicts.ts';
import { thoughtOf } from '../../../src/core/kernel/next-step.ts';
import { FAILURE_CONTEXT } from '../../../src/core/program/ask.ts';
import { interpolate, isReferenceName, type Lookup, outputAt } from '../../../src/core/program/references.ts';
import { failureText, formatError } from '../../../src/core/program/step-errors.ts';
import { traceOf } from '../../../src/core/program/trace.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { type AnyProgram, type AnyStep, type AnyUnit, defineProgram, tool as toolStep, unit } from '../../../src/define/program/index.ts';
import type { AnyTool } from '../../../src/define/tool-definition.ts';
import { failWith, malformed, scriptedModel, type ScriptEntry, testProgram } from '../../../src/testing/index.ts';
import { list, number, object, only, type Operation, said, text } from './adapter.ts';
import { refineOf } from './axon-retry.ts';

const UNIT = ['flow', 'system_prompt', 'effort', 'anchors', 'steps'];
const STEP = ['name', 'prompt', 'output_schema', 'metadata'];
const METADATA = ['refine', 'output_type', 'confidence_floor', 'required_fields', 'use_tool'];

/** A compiled program as a program of the product, and the flow of each unit, by the name that the unit has in the product. */
interface CompiledProgram {
  program: AnyProgram;
  flows: ReadonlyMap<string, string>;
}

/**
 * Translates the units of a compiled program. Their flows may have one name, no name, or any: the product needs distinct names without
 * dots.
 */
function toProgram(units: JsonValue | undefined, tools: ReadonlyMap<string, AnyTool>): CompiledProgram {
  const compiled = list(units).map((one) => only('A unit', one, UNIT));
  const flows = new Map<string, string>();
  for (const { flow } of compiled) flows.set(freeName(text(flow), flows), text(flow));
  const names = [...flows.keys()];
  const made = compiled.map((one, index) => toUnit(names[index] ?? '', one, tools));
  return { program: defineProgram({ name: 'program', model: 'scripted/model', lenient: true, units: made }), flows };
}

function freeName(flow: string, taken: ReadonlyMap<string, string>): string {
  if (isReferenceName(flow) && !taken.has(flow)) return flow;
  for (let count = taken.size + 1; ; count += 1) if (!taken.has(`flow#${count}`)) return `flow#${count}`;
}

function toUnit(name: string, { system_prompt, effort, anchors, steps }: JsonObject, tools: ReadonlyMap<string, AnyTool>): AnyUnit {
  const options = {
    ...given('instructions', system_prompt, text),
    ...given('effort', effort, (word) => text(word) as ReasoningEffort),
    ...given('anchors', anchors, texts),
  };
  return unit(
    name,
    options,
    list(steps).map((step) => toStep(step, tools)),
  );
}

function toStep(step: JsonValue, tools: ReadonlyMap<string, AnyTool>): AnyStep {
  const { name, prompt, output_schema, metadata } = only('A step', step, STEP);
  const { refine, output_type, confidence_floor, required_fields, use_tool } = only('The metadata of a step', metadata ?? {}, METADATA);
  if (use_tool !== undefined) {
    // AXON calls the tool with the prompt, and makes no further attempt.
    const called = text(only('"use_tool"', use_tool, ['tool_name'])['tool_name']);
    return toolStep(text(name), tools.get(called) ?? called, { query: text(prompt) });
  }
  return {
    name: text(name),
    ask: {
      prompt: text(prompt),
      ...given('output', output_schema, object),
      ...given('type', output_type, text),
      ...given('confidenceFloor', confidence_floor, (floor) => number(floor, 0)),
      ...given('requiredFields', required_fields, texts),
    },
    ...given('refine', refine, (block) => refineOf(object(block))),
  };
}

/** Translates an entry of `model`: the answer to one call, or the error of a client. */
function toAxonAnswer(entry: JsonValue): ScriptEntry {
  const { content, structured, error } = only('An entry of "model"', entry, ['content', 'structured', 'error']);
  if (error !== undefined) return failWith('model_error', said(error));
  return malformed({
    content: text(content),
    toolCalls: [],
    usage: null,
    finishReason: 'stop',
    ...given('structured', structured, (one) => one),
  });
}

function texts(value: JsonValue): string[] {
  return list(value).map((one) => text(one));
}

/** Returns an object with the key. Empty, as AXON's texts are by default, is the same as absent. */
function given<Key extends string, Value>(
  key: Key,
  value: JsonValue | undefined,
  translate: (value: JsonValue) => Value,
): { [K in Key]?: Value } {
  return value === undefined || value === null || value === '' ? {} : ({ [key]: translate(value) } as { [K in Key]: Value });
}

const REGISTERED = ['returns', 'throws', 'hangs', 'timeout_s', 'is_stub'];

/** The longest time that a case may really wait for the timeout of a tool. */
const LONGEST_MS = 100;

/** Operation `dispatch.run`: a program with one tool step. */
export async function dispatch({ registered, tool, argument }: JsonObject): Promise<unknown> {
  const definitions = readRegistered(registered);
  const name = text(tool);
  const definition = definitions.find((one) => one.name === name);
  const step = toolStep('call', definition === undefined ? name : toTool(name, definition), { query: text(argument) });
  const program = defineProgram({ name: 'program', lenient: true, units: [unit('unit', {}, [step])] });
  const { result } = await testProgram(program, { model: scriptedModel([]) });
  const [called] = result.units[0]?.steps ?? [];
  if (called?.error === undefined) {
    return {
      success: result.success,
      data: called?.output ?? null,
      error: null,
      metadata: { tool_name: name, is_stub: isStub(definition) },
    };
  }
  const error = toAxonFailure(called.error, { name, definition, names: definitions.map((one) => one.name) });
  const timeOut = definition?.['hangs'] === undefined ? {} : { timeout_seconds: definition['timeout_s'] };
  return { success: result.success, data: null, error, metadata: { tool_name: name, ...timeOut } };
}

/** A tool of a case. */
type Registered = JsonObject & { name: string };

/** Reads the tools of a case. */
function readRegistered(registered: JsonValue | undefined): Registered[] {
  return Object.entries(object(registered)).map(([name, one]) => ({ ...only('A tool', one, REGISTERED), name }));
}

/** Translates a tool of a case. */
function toTool(name: string, { returns, throws, hangs, timeout_s }: JsonObject): AnyTool {
  const timeoutMs = Math.min(number(timeout_s, 30) * 1000, LONGEST_MS);
  return defineTool({
    name,
    description: name,
    parameters: z.object({ query: z.string() }),
    maxAttempts: 1,
    ...(hangs === undefined ? {} : { timeout: timeoutMs }),
    execute: () => {
      if (throws !== undefined) throw new Error(text(throws));
      if (hangs !== undefined) return new Promise<never>(() => undefined);
      if (!isResult(returns)) return returns ?? null;
      if (returns['success'] === false) throw new Error(text(returns['error']));
      return returns['data'] ?? null;
    },
  });
}

/** A case writes the data that a tool returns, or the whole result with its data. */
function isResult(returns: JsonValue | undefined): returns is JsonObject {
  return isJsonObject(returns) && typeof returns['success'] === 'boolean';
}

function isStub(definition: JsonObject | undefined): boolean {
  const { metadata } = isResult(definition?.['returns']) ? definition['returns'] : {};
  return definition?.['is_stub'] === true || (isJsonObject(metadata) && metadata['is_stub'] === true);
}

/** Puts the failure of a tool in AXON's words. */
function toAxonFailure(
  { message, context: { details = '' } }: StepError,
  { name, definition, names }: { name: string; definition: Registered | undefined; names: string[] },
): string {
  if (details === unknownTool(name)) return notRegistered(name, names);
  if (details.startsWith(`Tool '${name}' timed out`)) return `Tool '${name}' timed out after ${number(definition?.['timeout_s'], 30)}s`;
  return isResult(definition?.['returns']) ? details : message;
}

/** AXON's words for a tool that is not registered. */
function notRegistered(name: string, registered: readonly string[]): string {
  return `Tool not found: "Tool '${name}' not registered. Available: ${registered.toSorted().join(', ') || '(none)'}"`;
}

/** Suite `axon.executor`: programs. */
export const axonExecutorOperations: Readonly<Record<string, Operation>> = {
  'executor.run': {
    input: ['units', 'model', 'registered'],
    expect: [
      'success',
      'unit_success',
      'unit_errors',
      'step_contents',
      'prompts',
      'system_prompts',
      'failure_contexts',
      'events',
      'attempts',
    ],
    perform: run,
  },
  interpolate: { input: ['prompt', 'results'], expect: [], perform: interpolatePrompt },
};

async function run({ units, model, registered }: JsonObject): Promise<unknown> {
  const tools = registered === undefined ? undefined : readRegistered(registered);
  const { program, flows } = toProgram(units, new Map(tools?.map((one) => [one.name, toTool(one.name, one)])));
  const script = scriptedModel(list(model).map(toAxonAnswer), { repeatLast: true });
  // A case may give more answers than its program asks for.
  const client = { capabilities: script.capabilities, call: script.call };
  const { result, requests, events } = await testProgram(program, { model: client });
  const [first] = result.units;
  const [span] = traceOf(program.document, events).spans;
  const words: ToolWords = {
    called: program.document.units.flatMap(({ steps }) => steps.flatMap(({ tool }) => tool?.name ?? [])),
    registered: tools?.map(({ name }) => name),
  };
  return {
    success: result.success,
    unit_success: result.units.map(({ status }) => status === 'completed'),
    unit_errors: result.units.map(({ error }) => (error === undefined ? '' : withFlows(formatError(worded(error, words)), flows))),
    step_contents: result.units.map((one) => stepsOf(one).map(({ name }) => contentOf(events, `${one.name}.${name}`))),
    prompts: requests.map((request) => promptOf(request)[0]),
    failure_contexts: failureContexts(requests, events).map((context) => withFlows(context, flows)),
    events: span === undefined ? [] : typesOf(span),
    system_prompts: requests.map(systemPromptOf),
    attempts: first === undefined ? [] : stepsOf(first).map(({ attempts }) => attempts),
  };
}

/** AXON passes the formatted error to the next attempt; the product says the same in plain words. */
function failureContexts(requests: readonly ModelRequest[], events: readonly Event[]): string[] {
  let failures = events.flatMap(({ step }) => step?.error ?? []);
  return requests.map((request) => {
    const told = promptOf(request)[1];
    if (told === undefined) return '';
    const at = failures.findIndex((one) => failureText(one) === told);
    const failure = failures[at];
    failures = failures.slice(at + 1);
    return failure === undefined ? told : formatError(failure);
  });
}

/** Returns the text of an error with the flows of the case in place of the names of units. AXON leaves an empty flow out. */
function withFlows(error: string, flows: ReadonlyMap<string, string>): string {
  return error.replaceAll(/\n {2}flow: (.*)/g, (line, name: string) => {
    const flow = flows.get(name);
    return flow === undefined ? line : flow === '' ? '' : `\n  flow: ${flow}`;
  });
}

/** The tools that the steps of a program call, and its dispatcher's, if there is one. */
interface ToolWords {
  called: readonly string[];
  registered: readonly string[] | undefined;
}

/** Puts the failure of a step whose tool is unknown in AXON's words. */
function worded(error: StepError, { called, registered }: ToolWords): StepError {
  const { details, ...context } = error.context;
  const tool = called.find((name) => details === unknownTool(name));
  if (tool === undefined) return error;
  const missing = `Step '${context.step}' requires a tool ('${tool}') but no ToolDispatcher was provided to the Executor.`;
  return { ...error, context, message: registered === undefined ? missing : `Tool '${tool}' failed: ${notRegistered(tool, registered)}` };
}

/** AXON lists the steps that ended without an error. */
function stepsOf({ steps }: UnitResult): UnitResult['steps'] {
  return steps.filter(({ status }) => status !== 'failed');
}

/** AXON's name for the text of the answer that a step has taken; null for a step that was skipped. */
function contentOf(events: readonly Event[], at: string): string | null {
  const ended = events.find(({ step }) => step?.at === at && step.type === 'end');
  if (ended?.step?.status !== 'completed') return null;
  const answer = events.findLast(({ step }) => step?.at === at && step.type === 'attempt' && step.error === undefined);
  if (answer === undefined) return null;
  const result = answer.content.find((item) => item.type === 'tool_result');
  return result?.type === 'tool_result' ? jsonText(result.content[0] ?? null) : thoughtOf(answer.content);
}

/** The data of a tool as AXON writes it: as JSON with blanks; nothing for data that is empty. */
function jsonText(data: JsonValue): string {
  const isEmpty = !data || (typeof data === 'object' && Object.keys(data).length === 0);
  return isEmpty ? '' : jsonWithBlanks(data);
}

function jsonWithBlanks(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(jsonWithBlanks).join(', ')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}: ${jsonWithBlanks(member)}`)
    .join(', ')}}`;
}

/** AXON passes the failure context next to the prompt, and the product appends it. */
function promptOf({ conversation }: ModelRequest): string[] {
  const prompt = thoughtOf(conversation.flatMap(({ content }) => content)) ?? '';
  const at = prompt.indexOf(FAILURE_CONTEXT);
  return at === -1 ? [prompt] : [prompt.slice(0, at), prompt.slice(at + FAILURE_CONTEXT.length)];
}

const ANCHOR_TEXTS = new Set(BUILT_IN_ANCHORS.map(anchorInstruction));

/** In AXON, the texts of the anchors are in the system prompt that a case gives, or nowhere. */
function systemPromptOf({ instructions }: ModelRequest): string {
  return instructions.filter((instruction) => !ANCHOR_TEXTS.has(instruction)).join('\n\n');
}

function typesOf({ events }: TraceSpan): string[] {
  return events.map((event) => event.event_type);
}

/** AXON keeps references that lead to no value. */
function interpolatePrompt({ prompt, results }: JsonObject): JsonValue {
  const resolved = interpolate(text(prompt), lookupIn(object(results ?? {})), { lenient: true });
  if (!resolved.ok) throw new Error(resolved.problem);
  return resolved.value;
}

function lookupIn(results: JsonObject): Lookup {
  return ({ path: [step, ...rest] }) => (Object.hasOwn(results, step) ? outputAt(results[step] ?? null, rest) : { found: false });
}
