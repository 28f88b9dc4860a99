import type { JsonValue } from '../json/json.ts';

/** A piece of a model's answer as it arrives. It is provisional: the event of the response holds the whole answer, checked. */
export type ModelDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** A piece of the arguments of a tool call, as JSON text. `callId` is that of the provider: the run renames an id that it has already. */
  | { type: 'tool_input'; callId: string; toolName: string; text: string };

/** A piece of live output. `data`: a tool has called `context.emit(name, data)`. */
export type Delta = ModelDelta | { type: 'data'; callId: string; name: string; data: JsonValue };
