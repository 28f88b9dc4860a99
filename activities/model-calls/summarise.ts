import { randomUUID } from 'node:crypto';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { hooksFor } from '../../src/core/domain/hooks/hook-snapshot.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { ModelRequest } from '../../src/core/domain/model/model.ts';
import type { Window, WindowEvent } from '../../src/core/domain/record/window.ts';
import { contextTokens } from '../../src/model/context-tokens.ts';
import type { SummariseInput, SummariseOutput, Summary } from '../../src/core/protocol.ts';
import { requireHooks } from '../hooks/event-hooks.ts';
import { beforeSummary } from '../hooks/model-hooks.ts';
import { modelActivity, askModel } from './ask-model.ts';
import { fetchTranscript } from './call-model.ts';
import type { Patience } from './patience.ts';
import { providerContext } from './provider-context.ts';
import { runKey } from '../run-queries/access.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { summaryRequest, titleRequest } from './summary-request.ts';

/** Creates the activity that summarises the older part of a conversation, or gives it a title, by one model call. */
export function summariseActivity(runtime: ActivityRuntime): (input: SummariseInput) => Promise<SummariseOutput> {
  return modelActivity((input, patience) => summarise(runtime, input, patience));
}

async function summarise(runtime: ActivityRuntime, input: SummariseInput, patience: Patience): Promise<SummariseOutput> {
  const snapshot = await runtime.snapshots.load(input, input.agent);
  patience.bind(snapshot.timing);
  const model = snapshot.window?.summaryModel ?? snapshot.model;
  const client = runtime.registry.provider(model);
  const isTitle = input.purpose === 'title';
  if (!isTitle) requireHooks(runtime, hooksFor(snapshot, 'pre_compact'));
  const window = await runtime.transcripts.load(runKey(input), input, fetchTranscript(input));
  const tokens = client.capabilities.contextTokens ?? contextTokens(model);
  const events = between(window, input);
  const request = isTitle ? titleRequest(model, events, tokens) : summaryRequest(model, events, { tokens, maxBytes: input.maxBytes });
  let hooks: HookRecord[] = [];
  const prepare = async (built: ModelRequest, signal: AbortSignal): Promise<ModelRequest> => {
    if (isTitle) return built;
    const hooked = await beforeSummary({ runtime, run: input, snapshot, signal }, events.length, built);
    hooks = hooked.records;
    return hooked.request;
  };
  const { heartbeatMs } = snapshot.timing;
  const eventId = randomUUID();
  const outcome = await askModel(
    runtime.aborts,
    { client, request, prepare, eventId, patience, heartbeatMs, ...providerContext(runtime, snapshot) },
    ({ content, usage }): Summary => {
      if (content.trim() === '') throw new LonghaulError('model_bad_response', `Model "${model}" gave an empty summary`);
      const text = cutText(content.toWellFormed(), input.maxBytes);
      return { id: eventId, text, usage, ...(hooks.length === 0 ? {} : { hooks }) };
    },
  );
  // A partial summary must not enter the conversation.
  if (outcome.type === 'aborted')
    return outcome.partial === undefined ? outcome : { ...outcome, partial: { ...outcome.partial, content: [] } };
  const { result, failedAttempts } = outcome;
  return { ...result, ...(failedAttempts === undefined ? {} : { failedAttempts }) };
}

/** Returns the events of the window between two events that are kept. */
function between({ events }: Window, { head, tail }: SummariseInput): WindowEvent[] {
  const from = events.findIndex(({ offset }) => offset === head) + 1;
  const to = tail === null ? events.length : events.findIndex(({ offset }) => offset === tail);
  return events.slice(from, to);
}
