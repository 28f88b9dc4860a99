import { anchorInstruction, BUILT_IN_ANCHORS } from '../../../../src/anchors/anchors.ts';
import { unknownTool } from '../../../../src/core/domain/tool-calls.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { ModelRequest } from '../../../../src/core/domain/model.ts';
import type { StepError } from '../../../../src/core/domain/verdicts.ts';
import type { UnitResult } from '../../../../src/core/domain/program-run.ts';
import { thoughtOf } from '../../../../src/core/kernel/next-step.ts';
import { failureText, formatError } from '../../../../src/core/program/step-errors.ts';
import { FAILURE_CONTEXT } from '../../../../src/core/program/ask.ts';
import { interpolate, type Lookup, outputAt } from '../../../../src/core/program/references.ts';
import { traceOf } from '../../../../src/core/program/trace.ts';
import type { TraceSpan } from '../../../../src/core/domain/trace.ts';
import { scriptedModel, testProgram } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { list, object, text } from '../fields.ts';
import { toAxonAnswer, toProgram } from './compiled-program.ts';
import { notRegistered, readRegistered, toTool } from './dispatch.ts';

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
    step_contents: result.units.map((unit) => stepsOf(unit).map(({ name }) => contentOf(events, `${unit.name}.${name}`))),
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
  return error.replaceAll(/\n {2}flow: (.*)/g, (line, unit: string) => {
    const flow = flows.get(unit);
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
