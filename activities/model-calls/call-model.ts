import { randomUUID } from 'node:crypto';
import { isToolCall } from '../../src/core/domain/content/content.ts';
import { toolOwner } from '../../src/core/domain/agent/tool-owner.ts';
import { MODEL_CALL_EVENTS } from '../../src/core/domain/hooks/hook-event.ts';
import { inlineHooks } from '../../src/core/domain/hooks/hook-snapshot.ts';
import type { ModelRequest } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import type { Folded, Window } from '../../src/core/domain/record/window.ts';
import { interpretReply } from '../../src/model/reply-formats/interpret-reply.ts';
import { type CallModelInput, type CallModelOutput, type OfRun, QUERIES, type TranscriptAnswer } from '../../src/core/protocol.ts';
import { requirePredicate } from './approval-requirements.ts';
import { reviewCalls } from '../hooks/review-calls.ts';
import { pinnedGuardrails } from '../guardrails/pinned-guardrails.ts';
import { requireHooks } from '../hooks/event-hooks.ts';
import { afterResponse } from '../hooks/model-hooks.ts';
import { answerCheck } from './answer-check.ts';
import { modelActivity, askModel } from './ask-model.ts';
import type { Patience } from './patience.ts';
import { PreparedRequest } from './prepared-request.ts';
import { providerContext } from './provider-context.ts';
import { limitResponseSize } from './limit-response-size.ts';
import { queryRun, runKey } from '../run-queries/access.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { modelStream } from '../attempts/streams/model-stream.ts';
import type { FetchTranscript } from '../run-queries/transcript.ts';

/**
 * Creates the activity that assembles the conversation from its reference, calls the model once, and returns the
 * answer, checked and with an id.
 */
export function callModelActivity(runtime: ActivityRuntime): (input: CallModelInput) => Promise<CallModelOutput> {
  return modelActivity((input, patience) => callModel(runtime, input, patience));
}

async function callModel(runtime: ActivityRuntime, input: CallModelInput, patience: Patience): Promise<CallModelOutput> {
  const key = runKey(input);
  const snapshot = await runtime.snapshots.load(input, input.agent);
  patience.bind(snapshot.timing);
  const client = runtime.registry.provider(snapshot.model);
  // Before anything is paid for. The final attempt runs no tools.
  if (!input.final) for (const tool of snapshot.tools) requirePredicate(runtime, input, snapshot, tool);
  const hooked = { ...snapshot, hooks: inlineHooks(snapshot, ...MODEL_CALL_EVENTS) };
  requireHooks(runtime, hooked.hooks);
  if (!input.final) pinnedGuardrails(runtime, snapshot, 'tool_call');
  const checkAnswer = answerCheck(runtime, snapshot);
  const window = await runtime.transcripts.load(key, input, fetchTranscript(input));
  const { heartbeatMs } = snapshot.timing;
  const prepared = new PreparedRequest(runtime, { run: input, snapshot: hooked, events: window.events });
  const { request } = prepared;
  const prepare = (_: ModelRequest, signal: AbortSignal): Promise<ModelRequest> => prepared.prepare(signal);
  const eventId = randomUUID();
  const { anchors = [], lenient = false } = snapshot.checks ?? {};
  const checkedBy = runtime.anchors.named(anchors, { lenient });
  const beginStream = modelStream(runtime, { run: input, snapshot, eventId, through: input.through, anchors: checkedBy });
  const streamed = { client, request, prepare, eventId, beginStream, patience };
  // A reply in a format of its own that is empty goes back to the model, with what is wrong.
  const mayBeEmpty = snapshot.replyFormat !== undefined && !input.final;
  const options = { ...streamed, mayBeEmpty, heartbeatMs, interruptibleBy: input.run ?? '', ...providerContext(runtime, snapshot) };
  const outcome = await askModel(runtime.aborts, options, async (answer, signal) => {
    const known = {
      snapshot,
      outputZod: runtime.registry.outputZod(toolOwner(snapshot)),
      knownCallIds: callIds(window),
      // The same in every attempt, and no other answer of the run has it.
      replyId: `call_${input.through}`,
      eventId,
      uuid: randomUUID,
    };
    const scope = { runtime, run: input, snapshot: hooked, signal };
    const { answer: given, records } = await afterResponse(scope, answer);
    const interpreted = interpretReply(given, known, input.final === true);
    // The final attempt runs no tools, even if the model calls one, and its answer ends the run at the limit in any case.
    const checked = input.final ? interpreted : await checkAnswer(interpreted, given);
    const response = limitResponseSize(checked, snapshot.model);
    const reviewed = input.final ? {} : await reviewCalls(scope, response);
    const { approvals, ...ofHooks } = reviewed;
    const hooks = [...prepared.hooks, ...records, ...(reviewed.hooks ?? [])];
    const limited = approvals === undefined ? response : limitResponseSize({ ...response, approvals }, snapshot.model);
    // The review has a budget of its own: an answer that has been paid for does not fail for it.
    return { ...limited, ...ofHooks, ...(hooks.length === 0 ? {} : { hooks }) };
  });
  if (outcome.type === 'aborted') return outcome;
  const { result, failedAttempts } = outcome;
  runtime.transcripts.addResponse(key, input.through, ...prepared.recallEvents, recordedEvent(snapshot.name, result));
  const receivedAt = snapshot.code === undefined ? {} : { receivedAt: Date.now() };
  const beside = { ...receivedAt, ...prepared.recalled, ...(failedAttempts === undefined ? {} : { failedAttempts }) };
  return { type: 'response', response: { ...result, ...beside } };
}

/** Asks the run for the part of the conversation that this process lacks. */
export function fetchTranscript(run: OfRun): FetchTranscript {
  return (question) => queryRun<TranscriptAnswer>(run, QUERIES.transcript, question);
}

function recordedEvent(author: string, { id, content, providerItems }: RecordedResponse): Folded {
  return { id, author, content, ...(providerItems === undefined ? {} : { providerItems }) };
}

/** Returns the ids of the calls in the conversation: a new call must have another one. */
function callIds({ events }: Window): Set<string> {
  return new Set(events.flatMap(({ content }) => content.filter(isToolCall).map(({ toolCallId }) => toolCallId)));
}
