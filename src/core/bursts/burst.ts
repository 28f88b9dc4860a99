import { type AgentSnapshot, attemptsOf, type ToolSnapshot } from '../domain/agent.ts';
import type { JsonValue } from '../domain/json.ts';
import type { ModelCall, ModelCallOutcome, ToolInvocation, ToolOutcome } from '../kernel/ports.ts';

/**
 * One call of a burst that has ended, and what it gave. `at`: when the loop of the burst learned of it, in milliseconds since the burst
 * began.
 */
export type BurstEntry = { at: number; key: string } & ({ model: ModelCallOutcome; tool?: never } | { tool: ToolOutcome; model?: never });

/** A call that a burst has begun and left to the run: the attempts that were made, and the details that the next one reads. */
export interface BegunCall {
  key: string;
  attempts: number;
  details?: JsonValue;
}

/** The outcomes of the calls of a burst, in the order in which they came. There is no decision in it: the run takes them again. */
export interface BurstRecord {
  entries: BurstEntry[];
  /** The calls that the run makes to their end. Absent: none was begun. */
  left?: BegunCall[];
  /** A request ended the burst before its first call. */
  givenUp?: true;
}

/** Names a model call of a run: no other one that has an answer follows as many events. */
export function modelKey({ through }: Pick<ModelCall, 'through'>): string {
  return `m${through}`;
}

/** Names a tool call of a run. */
export function toolKey({ offset, index }: Pick<ToolInvocation, 'offset' | 'index'>): string {
  return `t${offset}/${index}`;
}

/** The last characters of an id that are a number, in hexadecimal digits: those after the last hyphen of a UUID. */
const DIGITS = 12;

/** Returns the ids of the events that a run makes itself from the beginning of a burst on: the same in its activity, and later in the run. */
export function burstIds(seed: string): () => string {
  const prefix = seed.slice(0, -DIGITS);
  const first = Number.parseInt(seed.slice(-DIGITS), 16) || 0;
  let count = 0;
  return () => prefix + ((first + count++) % 16 ** DIGITS).toString(16).padStart(DIGITS, '0');
}

/** True if a run makes bursts as long as it has this agent. A model call that waits for a batch is ended by another workflow, as an activity. */
export function makesBursts({ burst, tier }: Pick<AgentSnapshot, 'burst' | 'tier'>): boolean {
  return burst !== undefined && tier !== 'batch';
}

/**
 * True if a burst may make the calls of a tool. It makes those that may run twice with the same key and nowhere else in particular: a call
 * that may have begun before a crash counts as an attempt, and a tool with a single one would lose it.
 */
export function mayRunInBurst(tool: ToolSnapshot): boolean {
  const { effect, tier, taskQueue, heartbeatTimeoutMs, concurrency, agent } = tool;
  const isSpecial = [taskQueue, heartbeatTimeoutMs, concurrency, agent].some((one) => one !== undefined);
  return effect !== 'once' && tier !== 'local' && !isSpecial && attemptsOf(tool) > 1;
}
