import { setTimeout as delay } from 'node:timers/promises';
import type { StreamItem } from '../../../../src/client/stream/stream-item.ts';
import { fold, newView, type StreamView } from '../../../../src/client/stream/stream-view.ts';
import { isResponse } from '../../../../src/core/domain/record.ts';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import type { JsonValue } from '../../../../src/core/domain/json.ts';
import { ModelCallError } from '../../../../src/core/domain/errors.ts';
import type { ModelResponse, RawToolCall } from '../../../../src/core/domain/model.ts';
import type { ModelDelta } from '../../../../src/core/domain/stream.ts';
import { malformed } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, only, said, text } from '../fields.ts';
import { streamWithKit } from '../streamed-run.ts';
import { parsedJsonText } from '../wording.ts';

/** The events of one model call of a provider, and those that a reader of its run gets. */
export const streamComplete: Operation = {
  input: ['events'],
  expect: ['events'],
  perform: async ({ events }) => {
    const provided = untilFailure(list(events).map(toPiece));
    const pieces = provided.flatMap((piece) => ('delta' in piece ? [piece.delta] : []));
    // Providers may report the end of an answer twice. A client of a provider takes the first one, and Nous passes on the others.
    const [finish, ...again] = provided.flatMap((piece) => ('finish' in piece ? [piece.finish] : []));
    const failure = provided.find((piece) => 'failure' in piece);
    const items = await streamWithKit({
      agent: defineAgent({ name: 'a', model: 'scripted/model', instructions: [] }),
      script: [malformed(toResponse(pieces, finish))],
      input: 'Q',
      // Nous calls the model once, and no tool.
      steps: 1,
      report: async (_, onDelta) => {
        for (const piece of pieces) {
          onDelta(piece);
          // The worker joins pieces that come at the same time.
          await delay(APART_MS);
        }
        if (failure !== undefined) throw new ModelCallError('model_error', failure.failure);
      },
    });
    return { events: [...toTheirEvents(items, finish), ...again.map((reason) => ['finish', reason])] };
  },
};

/** A time after which the worker publishes a piece by itself. */
const APART_MS = 8;

type Piece = { delta: ModelDelta } | { finish: string } | { failure: string };

/** A client of a provider fails with the first reported error. */
function untilFailure(pieces: readonly Piece[]): Piece[] {
  const failed = pieces.findIndex((piece) => 'failure' in piece);
  return failed === -1 ? [...pieces] : pieces.slice(0, failed + 1);
}

function toPiece(event: JsonValue): Piece {
  const [kind, content = null] = list(event);
  switch (kind) {
    case 'text_delta':
      return { delta: { type: 'text', text: text(content) } };
    case 'thinking_delta':
      return { delta: { type: 'reasoning', text: text(content) } };
    case 'tool_call_delta': {
      const { id, name, arguments: args } = only('A tool call', content, ['id', 'name', 'arguments']);
      return { delta: { type: 'tool_input', callId: text(id), toolName: text(name), text: text(args) } };
    }
    case 'finish':
      return { finish: text(content) };
    case 'error':
      return { failure: said(content) };
    default:
      throw new CaseProblem(`The provider sends ${JSON.stringify(event)}, which the adapter does not know`);
  }
}

/** Returns the answer that a client of the provider makes of its pieces. */
function toResponse(pieces: readonly ModelDelta[], finish: string | undefined): ModelResponse {
  const calls = new Map<string, RawToolCall & { arguments: string }>();
  for (const piece of pieces) {
    if (piece.type !== 'tool_input') continue;
    const before = calls.get(piece.callId)?.arguments ?? '';
    calls.set(piece.callId, { id: piece.callId, name: piece.toolName, arguments: before + piece.text });
  }
  const content = pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('');
  return { content, toolCalls: [...calls.values()], usage: null, finishReason: finish ?? '' };
}

/** Returns the items in the words of Nous, which reports the finish of the provider, and a stream without content as an error. */
function toTheirEvents(items: readonly StreamItem[], finish: string | undefined): JsonValue[] {
  const events: JsonValue[] = [];
  let view: StreamView = newView();
  let thinking = '';
  for (const item of items) {
    const [live] = view.live;
    view = fold(view, item);
    if (item.type === 'delta') events.push(toTheirDelta(item.delta));
    if (item.type === 'event' && isResponse(item.event)) thinking = live?.reasoning ?? '';
    if (item.type !== 'end') continue;
    // Nous completes an empty or failed stream after the error, as if the provider had stopped.
    const { errorCode, error } = item.result;
    const isBroken = errorCode === 'model_error';
    const finishReason = view.steps.at(-1)?.finishReason ?? finish ?? (isBroken || errorCode === 'model_no_answer' ? 'stop' : null);
    if (finish !== undefined) events.push(['finish', finishReason]);
    if (isBroken) events.push(['error', parsedJsonText(error ?? '')]);
    if (events.length === 0) events.push(['error', 'empty_stream']);
    const output = isBroken ? (live?.text ?? '') : item.result.output;
    if (isBroken) thinking = live?.reasoning ?? '';
    events.push(['complete', { output, finish_reason: finishReason, ...(thinking === '' ? {} : { thinking }) }]);
  }
  return events;
}

function toTheirDelta(delta: (StreamItem & { type: 'delta' })['delta']): JsonValue {
  switch (delta.type) {
    case 'text':
      return ['text_delta', delta.text];
    case 'reasoning':
      return ['thinking_delta', delta.text];
    case 'tool_input':
      return ['tool_call_delta', { id: delta.callId, name: delta.toolName, arguments: delta.text }];
    case 'data':
      throw new Error('The run has no tools');
  }
}
