import { randomUUID } from 'node:crypto';
import { isToolCall } from '../src/domain/content.ts';
import type { ConversationEvent, ModelResponse } from '../src/domain/model.ts';
import type { RecordedResponse } from '../src/domain/recorded-response.ts';
import type { Folded, Window, WindowEvent } from '../src/domain/window.ts';
import { interpretResponse } from '../src/model/interpret-response.ts';
import { type CallModelInput, type CallModelOutput, type OfRun, QUERIES, type TranscriptAnswer } from '../src/protocol.ts';
import { attempt } from './attempt.ts';
import { buildRequest } from './build-request.ts';
import { failingAs } from './failure.ts';
import { fitPartialText, fitResponse } from './fit-response.ts';
import { queryRun, runKey } from './run-access.ts';
import type { ActivityRuntime } from './runtime.ts';
import type { FetchTranscript } from './transcript.ts';

/** Assembles the conversation from its reference, asks the model once, and returns the answer checked and identified. */
export function callModelActivity(runtime: ActivityRuntime): (input: CallModelInput) => Promise<CallModelOutput> {
  return failingAs('model_error', (input) => callModel(runtime, input));
}

async function callModel(runtime: ActivityRuntime, input: CallModelInput): Promise<CallModelOutput> {
  const key = runKey(input);
  const snapshot = await runtime.snapshots.load(input, input.agent);
  const window = await runtime.transcripts.load(key, input, fetchTranscript(input));
  const request = buildRequest(snapshot, conversationOf(window.events), input.final === true);
  const client = runtime.registry.provider(snapshot.model);

  return attempt(runtime.aborts, snapshot.timing.heartbeatMs, async ({ signal, cancelRequested }) => {
    let text = '';
    let answer: ModelResponse;
    try {
      answer = await client.call(request, { signal, onText: (delta) => (text += delta) });
    } catch (error) {
      // An abort by the run's own cancellation is an outcome, not an error: as an error it would race with the
      // server's cancel and be recorded as a failure.
      if (signal.aborted && cancelRequested()) return { type: 'aborted', ...partial(text) };
      throw signal.aborted ? signal.reason : error;
    }
    const interpreted = interpretResponse(answer, {
      snapshot,
      outputZod: runtime.registry.outputZod(snapshot.name),
      knownCallIds: callIds(window),
      uuid: randomUUID,
    });
    const response = fitResponse(interpreted, snapshot.model);
    runtime.transcripts.addResponse(key, input.through, recordedEvent(snapshot.name, response));
    return { type: 'response', response };
  });
}

/** Asks the run for the part of the conversation that this process lacks. */
export function fetchTranscript(run: OfRun): FetchTranscript {
  return (question) => queryRun<TranscriptAnswer>(run, QUERIES.transcript, question);
}

/** Events as a model sees them: where they are in the record says nothing to it. */
export function conversationOf(events: WindowEvent[]): ConversationEvent[] {
  return events.map(({ author, content, providerItems }) =>
    providerItems === undefined ? { author, content } : { author, content, providerItems },
  );
}

function recordedEvent(author: string, { id, content, providerItems }: RecordedResponse): Folded {
  return { id, author, content, ...(providerItems === undefined ? {} : { providerItems }) };
}

/** Ids of the calls in the conversation: a new one must differ. */
function callIds({ events }: Window): Set<string> {
  return new Set(events.flatMap(({ content }) => content.filter(isToolCall).map(({ toolCallId }) => toolCallId)));
}

/** What had arrived of an aborted answer. */
function partial(text: string): { partial?: RecordedResponse } {
  if (text === '') return {};
  const content = [{ type: 'message' as const, role: 'assistant' as const, content: fitPartialText(text) }];
  return { partial: { id: randomUUID(), content, finishReason: 'interrupted', usage: null } };
}
