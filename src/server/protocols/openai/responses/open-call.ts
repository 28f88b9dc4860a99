import type { ResponseOutputItem } from 'openai/resources/responses/responses';
import type { Piece } from './open-text.ts';
import type { OutputEntry } from './output-entries.ts';
import { FIRST_UNIT } from './sequence.ts';
import { tagOf } from './tag.ts';

/** A call of a tool of the agent, as an item of the output. The package has no other item for calls that the service makes itself. */
export type CallItem = ResponseOutputItem.McpCall;

type Call = OutputEntry & { type: 'call' };

/** A call whose result has not been recorded. It makes the events of its item. */
export class OpenCall {
  readonly id: string;
  readonly index: number;
  /** The position of its item among those that the record holds. */
  readonly position: number;
  readonly #call: Call;
  readonly #server: string;

  /** `server`: the agent, whose worker makes the call. */
  constructor(call: Call, { index, position, server }: { index: number; position: number; server: string }) {
    this.id = callItemId(call.callId);
    this.index = index;
    this.position = position;
    this.#call = call;
    this.#server = server;
  }

  /** Begins the item. */
  begin(): Piece[] {
    const at = { item_id: this.id, output_index: this.index };
    const { arguments: text } = this.#call;
    const events = [
      { type: 'response.output_item.added', output_index: this.index, item: { ...this.item('in_progress'), arguments: '' } },
      { type: 'response.mcp_call.in_progress', ...at },
      { type: 'response.mcp_call_arguments.delta', ...at, delta: text },
      { type: 'response.mcp_call_arguments.done', ...at, arguments: text },
    ] as const;
    return this.#pieces(events);
  }

  /** Ends the item, with the result of the call or without one. */
  end(result: (OutputEntry & { type: 'result' }) | undefined): { item: CallItem; pieces: Piece[] } {
    const item = this.#ended(result);
    const at = { item_id: this.id, output_index: this.index };
    const type = item.status === 'completed' ? 'response.mcp_call.completed' : 'response.mcp_call.failed';
    const events = [
      { type, ...at },
      { type: 'response.output_item.done', output_index: this.index, item },
    ] as const;
    return { item, pieces: this.#pieces(events) };
  }

  /** Returns the item without a result. */
  item(status: 'in_progress' | 'incomplete'): CallItem {
    const { name, arguments: text } = this.#call;
    return { id: this.id, type: 'mcp_call', server_label: this.#server, name, arguments: text, output: null, error: null, status };
  }

  #pieces(events: readonly Piece['event'][]): Piece[] {
    return events.map((event, number) => ({ unit: FIRST_UNIT + number, tag: tagOf(this.id), event }));
  }

  #ended(result: (OutputEntry & { type: 'result' }) | undefined): CallItem {
    if (result === undefined) return this.item('incomplete');
    const { output, isError } = result;
    if (!isError) return { ...this.item('incomplete'), status: 'completed', output };
    return { ...this.item('incomplete'), status: 'failed', error: { type: 'mcp_tool_execution_error', content: output } };
  }
}

/** Returns the id of the item of a call. */
export function callItemId(callId: string): string {
  return `mcp_${callId}`;
}
