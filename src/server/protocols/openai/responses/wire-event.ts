import type {
  Response as OpenaiResponse,
  ResponseCompletedEvent,
  ResponseCreatedEvent,
  ResponseErrorEvent,
  ResponseFailedEvent,
  ResponseIncompleteEvent,
  ResponseInProgressEvent,
  ResponseQueuedEvent,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';

/** A response as the service sends it. The package adds `output_text`. */
export type ResponseBody = Omit<OpenaiResponse, 'output_text' | 'access_programs'>;

type OfLife =
  | ResponseCompletedEvent
  | ResponseCreatedEvent
  | ResponseFailedEvent
  | ResponseIncompleteEvent
  | ResponseInProgressEvent
  | ResponseQueuedEvent;

type Without<Value, Key extends string> = Value extends unknown ? Omit<Value, Key> : never;

/** An event about an item of the output, without its number. */
export type ItemEvent = Without<Exclude<ResponseStreamEvent, OfLife | ResponseErrorEvent>, 'sequence_number'>;

/** An event about the whole response, without its number. */
export interface LifeEvent {
  type: OfLife['type'];
  response: ResponseBody;
}

/** An event of the stream of a response. */
export type WireEvent = (ItemEvent | LifeEvent) & { sequence_number: number };
