import type { Event } from '../../../../src/core/domain/record/event.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json/json.ts';
import type { ModelRequest } from '../../../../src/core/domain/model/model.ts';
import type { UnitResult } from '../../../../src/core/domain/program/unit-result.ts';
import { thoughtOf } from '../../../../src/core/loop/state/thought.ts';
import { formatError } from '../../../../src/core/program/errors/format-error.ts';
import { FAILURE_CONTEXT } from '../../../../src/core/program/prompt/ask-prompt.ts';
import { interpolate, type Lookup } from '../../../../src/core/program/references/interpolate.ts';
import { outputAt } from '../../../../src/core/program/references/value-at.ts';
import { traceOf } from '../../../../src/core/program/trace/trace-of.ts';
import type { TraceSpan } from '../../../../src/core/program/trace/tracer.ts';
import { scriptedModel, testProgram } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { list, object, text } from '../fields.ts';
import { toAxonAnswer, toProgram } from './compiled-program.ts';

/** Suite `axon.executor`: programs. */
export const axonExecutorOperations: Readonly<Record<string, Operation>> = {
  'executor.run': {
    input: ['units', 'model'],
    expect: ['success', 'unit_success', 'unit_errors', 'step_contents', 'prompts', 'failure_contexts', 'events', 'attempts'],
    perform: run,
  },
  interpolate: { input: ['prompt', 'results'], expect: [], perform: interpolatePrompt },
};

async function run({ units, model }: JsonObject): Promise<unknown> {
  const program = toProgram(units);
  const script = scriptedModel(list(model).map(toAxonAnswer), { repeatLast: true });
  // A case may give more answers than its program asks for.
  const client = { capabilities: script.capabilities, call: script.call };
  const { result, requests, events } = await testProgram(program, { model: client });
  const [first] = result.units;
  const [span] = traceOf(program.document, events).spans;
  return {
    success: result.success,
    unit_success: result.units.map(({ status }) => status === 'completed'),
    unit_errors: result.units.map(({ error }) => (error === undefined ? '' : formatError(error))),
    step_contents: result.units.map((unit) => stepsOf(unit).map(({ name }) => contentOf(events, `${unit.name}.${name}`))),
    prompts: requests.map((request) => promptOf(request)[0]),
    failure_contexts: requests.map((request) => promptOf(request)[1] ?? ''),
    events: span === undefined ? [] : typesOf(span),
    attempts: first === undefined ? [] : stepsOf(first).map(({ attempts }) => attempts),
  };
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
  return answer === undefined ? null : thoughtOf(answer.content);
}

/** AXON hands the failure context over beside the prompt, and the product appends it. */
function promptOf({ conversation }: ModelRequest): string[] {
  const prompt = thoughtOf(conversation.flatMap(({ content }) => content)) ?? '';
  const at = prompt.indexOf(FAILURE_CONTEXT);
  return at === -1 ? [prompt] : [prompt.slice(0, at), prompt.slice(at + FAILURE_CONTEXT.length)];
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
