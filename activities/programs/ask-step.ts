import { anchorInstruction } from '../../src/anchors/anchor-instruction.ts';
import type { AgentSnapshot, ModelSettings } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { ModelCapabilities } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import type { AskDocument, UnitDocument } from '../../src/core/domain/program/document.ts';
import type { BriefResponse } from '../../src/core/domain/program/messages.ts';
import { answerOf } from '../../src/core/loop/state/answer-of.ts';
import { anchorNames, type PromptParts, renderAsk, type RenderedPrompt } from '../../src/core/program/prompt/ask-prompt.ts';
import type { AskStepInput, AskStepOutput } from '../../src/core/protocol.ts';
import { interpretResponse } from '../../src/model/interpret-response.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { toStrictPart } from '../../src/schema/strict-json-schema.ts';
import { modelStream } from '../attempts/streams/model-stream.ts';
import { askModel, modelActivity } from '../model-calls/ask-model.ts';
import { buildRequest } from '../model-calls/build-request.ts';
import { limitResponseSize } from '../model-calls/limit-response-size.ts';
import type { Patience } from '../model-calls/patience.ts';
import { providerContext } from '../model-calls/provider-context.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { shortId } from '../tool-calls/short-id.ts';
import { asGiven } from './as-given.ts';
import { stepScope } from './step-scope.ts';
import { verdictOn } from './verdict-on.ts';

/**
 * Creates the activity of one attempt of an `ask`: renders the prompt from the pinned program and the outputs that it
 * names, calls the model once, and checks the answer with the anchors and the validator.
 */
export function askStepActivity(runtime: ActivityRuntime): (input: AskStepInput) => Promise<AskStepOutput> {
  return modelActivity((input, patience) => askStep(runtime, input, patience));
}

async function askStep(runtime: ActivityRuntime, input: AskStepInput, patience: Patience): Promise<AskStepOutput> {
  const snapshot = await runtime.snapshots.load(input, input.agent);
  const { program, timing } = snapshot;
  patience.bind(timing);
  if (program === undefined) throw new LonghaulError('internal', `The snapshot of the run has no program`);
  const { address, indexed, context, lookup } = await stepScope(runtime, program, input);
  const { unit, step } = indexed;
  if (step.ask === undefined) throw new LonghaulError('internal', `Step "${input.step}" makes no model call`);
  const lenient = program.lenient === true;
  const anchors = runtime.anchors.named(anchorNames(unit, step.ask), { lenient });
  const parts = { lookup, lenient, anchors: anchors.map(anchorInstruction) };
  const { instructions, prompt, failure } = await renderStep(runtime, input, { unit, ask: step.ask, parts });
  const client = runtime.registry.provider(step.ask.model ?? program.model ?? '');
  const own: AgentSnapshot = askSnapshot(snapshot, { unit, ask: step.ask, instructions, capabilities: client.capabilities });
  context.append('user', prompt);
  const conversation = context.messages.map(({ role, content }) => ({
    author: role,
    content: [{ type: 'message' as const, role, content }],
  }));
  const request = { ...buildRequest(own, conversation, false), ...(failure === undefined ? {} : { failureContext: failure }) };
  const eventId = shortId();
  const beginStream = modelStream(runtime, { run: input, snapshot, eventId, callId: input.step, anchors });
  const { heartbeatMs } = timing;
  // In AXON, an empty answer is a failed attempt of its step.
  const asked = {
    client,
    request,
    eventId,
    beginStream,
    patience,
    heartbeatMs,
    mayBeEmpty: lenient,
    ...providerContext(runtime, snapshot),
  };
  const outcome = await askModel(runtime.aborts, asked, async (answer) => {
    const interpreted = interpretResponse(answer, { snapshot: own, knownCallIds: new Set(), eventId, uuid: shortId });
    const response = limitResponseSize(lenient ? asGiven(interpreted, answer) : interpreted, own.model);
    const checks = { ask: step.ask ?? { prompt: '' }, anchors, lenient, step: address.step };
    return { response, verdict: await verdictOn(response, checks, context) };
  });
  if (outcome.type === 'aborted') return outcome;
  const { response, verdict } = outcome.result;
  const output = answerOf(response, step.ask);
  if (output !== undefined) runtime.stepValues.add(input, response.id, output);
  return {
    response: { ...brief(response), ...(outcome.failedAttempts === undefined ? {} : { failedAttempts: outcome.failedAttempts }) },
    ...(Object.keys(verdict).length === 0 ? {} : { verdict }),
    promptLength: prompt.length,
  };
}

/** Leaves out the finish reason that goes without saying. */
function brief({ finishReason, ...response }: RecordedResponse): BriefResponse {
  return finishReason === 'stop' ? response : { ...response, finishReason };
}

/** The step of a prompt, and what its text is made of. */
interface RenderedStep {
  unit: Parameters<typeof renderAsk>[0];
  ask: Parameters<typeof renderAsk>[1];
  parts: Pick<PromptParts, 'lookup' | 'lenient' | 'anchors'>;
}

/** Renders the prompt, with an edit by an approver and the failure of the attempt before, if there are any. */
async function renderStep(
  { stepValues }: ActivityRuntime,
  input: AskStepInput,
  { unit, ask, parts }: RenderedStep,
): Promise<Extract<RenderedPrompt, { ok: true }> & { failure: string | undefined }> {
  const failure = input.failure === undefined ? undefined : await stepValues.failure(input, input.failure);
  const edited = input.edited ? (await stepValues.edited(input))['prompt'] : undefined;
  const rendered = renderAsk(unit, ask, {
    ...parts,
    ...(failure === undefined ? {} : { failure }),
    ...(typeof edited === 'string' ? { edited } : {}),
  });
  if (!rendered.ok) throw new LonghaulError('invalid_input', `The prompt of step "${input.step}" cannot be rendered: ${rendered.problem}`);
  return { ...rendered, failure };
}

/** The parts of a model call of a program. */
interface AskParts {
  unit: UnitDocument;
  ask: AskDocument;
  /** The system prompt, rendered. */
  instructions: string[];
  capabilities: ModelCapabilities;
}

/** Returns the snapshot of an agent that makes just this call, so that requests and answers are handled as those of agents. */
function askSnapshot(snapshot: AgentSnapshot, { unit, ask, instructions, capabilities }: AskParts): AgentSnapshot {
  const effort = ask.effort ?? unit.effort;
  const settings: ModelSettings = { ...snapshot.settings, ...(effort === undefined ? {} : { reasoningEffort: effort }), ...ask.settings };
  const own: AgentSnapshot = { ...snapshot, instructions, model: ask.model ?? snapshot.model, tools: [], settings };
  if (ask.output === undefined) return own;
  const strict = toStrictPart(ask.output);
  const mode = capabilities.structuredOutput ? 'schema' : 'final_answer';
  const providerSchema = strict.strict ? strict.schema : portableSchema(ask.output);
  return { ...own, output: { mode, schema: ask.output, providerSchema, strict: strict.strict, maxRetries: 0 } };
}
