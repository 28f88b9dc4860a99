import { isTooDeep } from '../../../src/core/domain/json/json-depth.ts';
import { isJsonObject } from '../../../src/core/domain/json/json.ts';
import type { RawToolCall } from '../../../src/core/domain/model/model.ts';
import type { ModelDelta } from '../../../src/core/domain/stream/delta.ts';

interface CallInProgress extends RawToolCall {
  index: number | undefined;
}

/**
 * Assembles the tool calls of a stream. OpenAI numbers the calls and sends id and name once. Other servers leave out
 * the number, give every call the number 0, repeat id and name in every chunk, or send the arguments as an object.
 */
export class ChatToolCalls {
  readonly #calls: CallInProgress[] = [];

  /** Adds a chunk of a call. Returns the part of its arguments that is new; undefined for a chunk that adds nothing. */
  addDelta(delta: unknown): ModelDelta | undefined {
    if (!isJsonObject(delta)) return undefined;
    const known = this.#calls.length;
    const call = this.#callOf(delta);
    const { name, arguments: text } = functionOf(delta);
    call.id = pick(call.id, delta['id']);
    call.name = pick(call.name, name);
    if (typeof call.arguments === 'string' && typeof text === 'string') call.arguments += text;
    else call.arguments = pick(call.arguments, text);
    const written = writtenText(text);
    return written === '' && this.#calls.length === known ? undefined : inputDelta(call, written);
  }

  /** Adds a whole call, from an answer that is not streamed. Returns its arguments. */
  addWhole(entry: unknown): ModelDelta | undefined {
    if (!isJsonObject(entry)) return undefined;
    const call = this.#open(undefined);
    const { name, arguments: text } = functionOf(entry);
    Object.assign(call, { id: entry['id'] ?? undefined, name, arguments: text });
    return inputDelta(call, writtenText(call.arguments));
  }

  /** The calls so far, in the order of their first chunk. */
  get list(): RawToolCall[] {
    return this.#calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
  }

  #callOf(delta: Record<string, unknown>): CallInProgress {
    const index = typeof delta['index'] === 'number' ? delta['index'] : undefined;
    const id = filled(delta['id']);
    const starts = filled(functionOf(delta).name) !== undefined;
    if (index !== undefined) {
      const numbered = this.#calls.findLast((call) => call.index === index);
      const another = starts && id !== undefined && filled(numbered?.id) !== undefined && numbered?.id !== id;
      return numbered === undefined || another ? this.#open(index) : numbered;
    }
    const identified = id === undefined ? undefined : this.#calls.findLast((call) => call.id === id);
    if (identified !== undefined) return identified;
    const last = this.#calls.at(-1);
    const fresh = last !== undefined && last.id === undefined && last.name === undefined;
    return last === undefined || (starts && !fresh) ? this.#open(undefined) : last;
  }

  #open(index: number | undefined): CallInProgress {
    const call: CallInProgress = { index, id: undefined, name: undefined, arguments: undefined };
    this.#calls.push(call);
    return call;
  }
}

/** Returns a piece of the arguments of a call. Servers that send no id give none here. */
function inputDelta({ id, name }: CallInProgress, text: string): ModelDelta {
  return { type: 'tool_input', callId: typeof id === 'string' ? id : '', toolName: typeof name === 'string' ? name : '', text };
}

/** Returns arguments as JSON text; empty for an object that is nested too deeply to be written, which is refused with the whole answer. */
function writtenText(given: unknown): string {
  if (typeof given === 'string') return given;
  return isJsonObject(given) && !isTooDeep(given) ? JSON.stringify(given) : '';
}

function functionOf(call: Record<string, unknown>): Record<string, unknown> & { name?: unknown; arguments?: unknown } {
  return isJsonObject(call['function']) ? call['function'] : {};
}

/** Returns the present value, unless it is empty. */
function pick(present: unknown, arriving: unknown): unknown {
  return filled(present) === undefined ? (arriving ?? present) : present;
}

function filled(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}
