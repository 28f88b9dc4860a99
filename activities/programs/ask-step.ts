import { anchorInstruction } from '../../src/anchors/anchor-instruction.ts';
import { checkAnchors } from '../../src/anchors/check-anchors.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { AnswerVerdict } from '../../src/core/domain/program/verdict.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { thoughtOf } from '../../src/core/loop/state/thought.ts';
import type { AskDocument, UnitDocument } from '../../src/core/domain/program/document.ts';
import { answerOf } from '../../src/core/program/prompt/answer.ts';
import { renderAsk } from '../../src/core/program/prompt/ask-prompt.ts';
import { validateAnswer } from '../../src/core/program/validation/validate-answer.ts';
import type { AskStepInput, AskStepOutput } from '../../src/core/protocol.ts';
import { interpretResponse } from '../../src/model/interpret-response.ts';
import { askModel, modelActivity } from '../model-calls/ask-model.ts';
import { buildRequest } from '../model-calls/build-request.ts';
import { providerContext } from '../model-calls/call-model.ts';
import { limitResponseSize } from '../model-calls/limit-response-size.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { shortId } from '../tool-calls/short-id.ts';
import { askSnapshot } from './ask-snapshot.ts';
import { stepScope } from './step-scope.ts';

/**
 * Creates the activity of one attempt of an `ask`: renders the prompt from the pinned program and the outputs that it
 * names, calls the model once, and checks the answer with the anchors and the validator.
 */
export function askStepActivity(runtime: ActivityRuntime): (input: AskStepInput) => Promise<AskStepOutput> {
  return modelActivity((input) => askStep(runtime, input));
}

async function askStep(runtime: ActivityRuntime, input: AskStepInput): Promise<AskStepOutput> {
  const snapshot = await runtime.snapshots.load(input, input.agent);
  const { program } = snapshot;
  if (program === undefined) throw new LonghaulError('internal', `The snapshot of the run has no program`);
  const { address, indexed, lookup } = await stepScope(runtime, program, input);
  const { unit, step } = indexed;
  if (step.ask === undefined) throw new LonghaulError('internal', `Step "${input.step}" makes no model call`);
  const anchors = runtime.anchors.named(anchorNames(unit, step.ask), { lenient: program.lenient === true });
  const edited = input.edited ? (await runtime.stepValues.edited(input))['prompt'] : undefined;
  const rendered = renderAsk(unit, step.ask, {
    lookup,
    lenient: program.lenient === true,
    anchors: anchors.map(anchorInstruction),
    ...(input.failure === undefined ? {} : { failure: await runtime.stepValues.failure(input, input.failure) }),
    ...(typeof edited === 'string' ? { edited } : {}),
  });
  if (!rendered.ok) throw new LonghaulError('invalid_input', `The prompt of step "${input.step}" cannot be rendered: ${rendered.problem}`);
  const { instructions, prompt } = rendered;
  const client = runtime.registry.provider(step.ask.model ?? program.model ?? '');
  const own: AgentSnapshot = askSnapshot(snapshot, { unit, ask: step.ask, instructions, capabilities: client.capabilities });
  const conversation = [{ author: 'user', content: [{ type: 'message' as const, role: 'user' as const, content: prompt }] }];
  const request = buildRequest(own, conversation, false);
  const { heartbeatMs } = snapshot.timing;
  const outcome = await askModel(
    runtime.aborts,
    { client, request, heartbeatMs, ...providerContext(runtime, snapshot) },
    async (answer) => {
      const interpreted = interpretResponse(answer, { snapshot: own, knownCallIds: new Set(), uuid: shortId });
      const response = limitResponseSize(interpreted, own.model);
      return { response, verdict: await verdictOn(response, step.ask ?? { prompt: '' }, anchors, address.step) };
    },
  );
  if (outcome.type === 'aborted') return outcome;
  const { response, verdict } = outcome.result;
  const output = answerOf(response, step.ask);
  if (output !== undefined) runtime.stepValues.add(input, response.id, output);
  const { failedAttempts } = outcome;
  const { finishReason, ...brief } = response;
  const recorded = {
    ...brief,
    ...(finishReason === 'stop' ? {} : { finishReason }),
    ...(failedAttempts === undefined ? {} : { failedAttempts }),
  };
  return { response: recorded, ...(Object.keys(verdict).length === 0 ? {} : { verdict }), promptLength: prompt.length };
}

function anchorNames({ anchors: ofUnit = [] }: UnitDocument, { anchors = [] }: AskDocument): string[] {
  return [...new Set([...ofUnit, ...anchors])];
}

/** Checks an answer: all anchors, then its form, then its type, confidence, fields and range. */
async function verdictOn(
  response: RecordedResponse,
  ask: AskDocument,
  anchors: Parameters<typeof checkAnchors>[1],
  step: string,
): Promise<AnswerVerdict> {
  const text = thoughtOf(response.content) ?? '';
  const checked = anchors.length === 0 ? undefined : await checkAnchors(text, anchors, { step });
  const verdict: AnswerVerdict = checked === undefined ? {} : { anchors: checked };
  if (response.refusal !== undefined) return { ...verdict, misfit: `the model refused to answer: ${response.refusal}` };
  if (response.output?.type === 'problem') return { ...verdict, misfit: response.output.problem };
  const output: JsonValue | undefined = answerOf(response, ask);
  if (output === undefined || output === '') return { ...verdict, misfit: 'the answer is empty' };
  if (!isValidated(ask)) return verdict;
  const { type, confidenceFloor, requiredFields, range } = ask;
  const { violations, confidence } = validateAnswer(output, {
    ...(type === undefined ? {} : { type }),
    ...(confidenceFloor === undefined ? {} : { confidenceFloor }),
    ...(requiredFields === undefined ? {} : { requiredFields }),
    ...(range === undefined ? {} : { range }),
  });
  return { ...verdict, violations, ...(confidence === null ? {} : { confidence }) };
}

/** True if the answer is to be validated: the step declares its type or its form. */
function isValidated({ output, type, confidenceFloor, requiredFields, range }: AskDocument): boolean {
  return [output, type, confidenceFloor, requiredFields, range].some((rule) => rule !== undefined);
}
