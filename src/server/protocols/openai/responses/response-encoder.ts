import type { StreamMessage } from '../../../sse/event-stream.ts';
import type { StreamEncoder } from '../answering/streamed.ts';
import type { ResponseFacts } from './response-body.ts';
import { ResponseEvents, type ResponseEventOptions } from './response-events.ts';
import type { WireEvent } from './wire-event.ts';

/** Returns the encoder of a streamed response. */
export function responseEncoder(facts: ResponseFacts, options: ResponseEventOptions = {}): StreamEncoder {
  const events = new ResponseEvents(facts, options);
  let last = 0;
  function* messages(made: Iterable<WireEvent>): Generator<StreamMessage> {
    for (const event of made) {
      last = event.sequence_number;
      yield { event: event.type, data: JSON.stringify(event) };
    }
  }
  return {
    begin: () => messages(events.begin()),
    take: (item) => messages(events.take(item)),
    end: () => [],
    // It has the number of the event before: a reader that comes back misses nothing.
    fail: ({ code, message, param }) => [
      { event: 'error', data: JSON.stringify({ type: 'error', code, message, param, sequence_number: last }) },
    ],
  };
}
