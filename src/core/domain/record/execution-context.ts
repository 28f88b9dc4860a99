import type { Event } from './event.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';

/** The events, steps, state and result of a run. One plain object, owned by the loop. */
export interface ExecutionContext {
  executionId: string;
  /** Append-only; the index of an event is its offset. */
  events: Event[];
  /** The number of steps that are complete. */
  currentStep: number;
  state: JsonObject;
  finalResult: JsonValue | null;
}

/** Returns the context of a run that has not begun. */
export function newExecutionContext(executionId: string): ExecutionContext {
  return { executionId, events: [], currentStep: 0, state: {}, finalResult: null };
}

/** Appends an event to the record. */
export function addEvent(context: ExecutionContext, event: Event): void {
  context.events.push(event);
}

/** Moves on to the next step. */
export function incrementStep(context: ExecutionContext): void {
  context.currentStep += 1;
}

/** Sets a key of the state. Keys may come from a model, so `__proto__` is a key like any other. */
export function setState(context: ExecutionContext, key: string, value: JsonValue): void {
  Object.defineProperty(context.state, key, { value, writable: true, enumerable: true, configurable: true });
}
