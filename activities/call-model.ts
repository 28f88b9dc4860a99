import { randomUUID } from 'node:crypto';
import { isToolCall } from '../src/domain/content.ts';
import type { ModelResponse } from '../src/domain/model.ts';
import type { RecordedResponse } from '../src/domain/recorded-response.ts';
import { interpretResponse } from '../src/model/interpret-response.ts';
import { type CallModelInput, type CallModelOutput, QUERIES } from '../src/protocol.ts';
import { attempt } from './attempt.ts';
import { buildRequest } from './build-request.ts';
import { failingAs } from './failure.ts';
import { fitPartialText, fitResponse } from './fit-response.ts';
import { executionKey, queryRun } from './run-access.ts';
import type { ActivityRuntime } from './runtime.ts';
import type { TranscriptEvent, TranscriptPage } from './transcript.ts';

/** Assembles the conversation from its reference, asks the model once, and returns the answer checked and identified. */
export function callModelActivity(runtime: ActivityRuntime): (input: CallModelInput) => Promise<CallModelOutput> {
  return failingAs('model_error', (input) => callModel(runtime, input));
}

async function callModel(runtime: ActivityRuntime, input: CallModelInput): Promise<CallModelOutput> {
  const key = executionKey();
  const snapshot = await runtime.snapshots.load(input.agent);
  const transcript = await runtime.transcripts.load(key, input, fetchTranscript);
  const request = buildRequest(snapshot, transcript.map(withoutId), input.final === true);
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
      knownCallIds: callIds(transcript),
      uuid: randomUUID,
    });
    const response = fitResponse(interpreted, snapshot.model);
    runtime.transcripts.addResponse(key, input.through, transcriptEvent(snapshot.name, response));
    return { type: 'response', response };
  });
}

/** Asks the run for the events that this process lacks. */
export async function fetchTranscript(from: number, knownId: string | null): Promise<TranscriptPage> {
  return queryRun<TranscriptPage>(QUERIES.transcript, { from, knownId });
}

function transcriptEvent(author: string, { id, content, providerItems }: RecordedResponse): TranscriptEvent {
  return { id, author, content, ...(providerItems === undefined ? {} : { providerItems }) };
}

function withoutId({ author, content, providerItems }: TranscriptEvent): Omit<TranscriptEvent, 'id'> {
  return providerItems === undefined ? { author, content } : { author, content, providerItems };
}

/** Ids of all calls so far: a new one must differ. */
function callIds(transcript: TranscriptEvent[]): Set<string> {
  const ids = new Set<string>();
  for (const { content } of transcript) {
    for (const item of content) if (isToolCall(item)) ids.add(item.toolCallId);
  }
  return ids;
}

/** What had arrived of an aborted answer. */
function partial(text: string): { partial?: RecordedResponse } {
  if (text === '') return {};
  const content = [{ type: 'message' as const, role: 'assistant' as const, content: fitPartialText(text) }];
  return { partial: { id: randomUUID(), content, finishReason: 'interrupted', usage: null } };
}
