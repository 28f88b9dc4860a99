import type { Recalled } from '../../src/core/domain/memory.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import type { AskStepInput, AskStepOutput, CallModelInput, CallModelOutput } from '../../src/core/protocol.ts';
import { answerModelCall, type KnownRequest, readyModelCall } from '../model-calls/call-model.ts';
import type { AskedModel } from '../model-calls/fallback.ts';
import { Patience } from '../model-calls/patience.ts';
import { answerAsk, readyAsk } from '../programs/ask-step.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { PendingCall } from './pending-call.ts';
import { requestDigest } from './request-digest.ts';

/** The request of a call of a batch as it is sent. */
interface BatchedRequest {
  request: ModelRequest;
  /** The notes of capabilities on it, if there are any. */
  records: object[];
}

/** An answer from a batch. */
interface BatchedAnswer {
  answer: ModelResponse;
  records: object[];
}

/** Makes the request of a call, which is the one that the call has registered; undefined if it has become another one. */
export async function requestOfCall(runtime: ActivityRuntime, pending: PendingCall): Promise<BatchedRequest | undefined> {
  const { call } = pending;
  if (call.activity === 'askStep') {
    const { asked } = await readyAsk(runtime, call.input as AskStepInput, new Patience());
    const { request } = modelIn(asked.models, pending);
    return requestDigest(request) === call.digest ? { request, records: [] } : undefined;
  }
  const { asked, prepared } = await readyModelCall(runtime, call.input as CallModelInput, new Patience(), recalledFor(pending));
  const { name, request } = modelIn(asked.models, pending);
  if (requestDigest(request) !== call.digest) return undefined;
  const sent = await prepared.prepare(name, AbortSignal.timeout(PREPARE_MS));
  return { request: sent, records: Object.keys(prepared.notes).length === 0 ? [] : [prepared.notes] };
}

/** Milliseconds in which a request is made. What has a part in it has limits of its own. */
const PREPARE_MS = 10 * 60_000;

/** Returns the output of the activity of a call whose answer comes from a batch: it is parsed, checked and reviewed like any other. */
export async function answerOfBatch(
  runtime: ActivityRuntime,
  pending: PendingCall,
  { answer, records }: BatchedAnswer,
): Promise<CallModelOutput | AskStepOutput> {
  const { call } = pending;
  // The request was paid for with its batch, outside of the limits of requests that are sent one by one.
  const ungoverned = { ...runtime, governor: undefined };
  if (call.activity === 'askStep') {
    const ready = await readyAsk(runtime, call.input as AskStepInput, new Patience());
    const models = [answeredWith(answer, modelIn(ready.asked.models, pending))];
    const output = await answerAsk(ungoverned, ready, { models });
    return 'type' in output ? output : { ...output, response: { ...output.response, inBatch: true } };
  }
  const known = { ...recalledFor(pending), notes: (records[0] ?? {}) as NonNullable<KnownRequest['notes']> };
  const ready = await readyModelCall(runtime, call.input as CallModelInput, new Patience(), known);
  const model = modelIn(ready.asked.models, pending);
  const isFirst = model === ready.asked.models[0];
  const output = await answerModelCall(ungoverned, ready, { models: [answeredWith(answer, model)] });
  if (output.type !== 'response') return output;
  return { ...output, response: { ...output.response, ...(isFirst ? {} : { answeredBy: model.name }), inBatch: true } };
}

/** Returns a model that has given its answer. */
function answeredWith(answer: ModelResponse, model: AskedModel): AskedModel {
  const client: ModelClient = { capabilities: model.client.capabilities, call: () => Promise.resolve(answer) };
  return { ...model, client };
}

function modelIn(models: readonly AskedModel[], { call }: PendingCall): AskedModel {
  const model = models.find(({ name }) => name === call.model);
  if (model === undefined) throw new TypeError(`The call has no model "${call.model}"`);
  return model;
}

function recalledFor({ batch }: PendingCall): { recalled?: Recalled } {
  return batch?.recalled === undefined ? {} : { recalled: batch.recalled as Recalled };
}
