import { type AgentSnapshot, attemptsOf, type ToolSnapshot } from '../domain/agent.ts';
import type { Tier } from '../domain/batch.ts';
import type { JsonValue } from '../domain/json.ts';
import type { ModelCall, ModelCallOutcome, ToolInvocation, ToolOutcome } from '../kernel/ports.ts';
import type { UnnamedEvent } from '../kernel/run-state.ts';

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
  /** How many attempts each call took, by its key. Absent for a call: one. 0: it ended because all its attempts were lost. */
  attempts?: Record<string, number>;
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

/** The last characters of an id, in hexadecimal digits: those after the last hyphen of a UUID. */
const DIGITS = 12;

/**
 * Returns the ids of the events that a run makes itself from the beginning of a burst on: the same in its activity, and later in the run.
 * The id of an event follows from its content, or the ids of the results in it, and from the event before it, whose id follows from all before:
 * two attempts that have received different answers never name two conversations the same.
 */
export function burstIds(seed: string): (event?: UnnamedEvent) => string {
  const prefix = seed.slice(0, -DIGITS);
  let others = 0;
  return (event) => prefix + fingerprint(JSON.stringify(event === undefined ? [seed, (others += 1)] : [event.after, event.content]));
}

/** The factors of the two halves of a fingerprint: primes, as FNV has one. */
const FACTORS = [0x01000193, 0x5bd1e995] as const;

/** Returns 48 bits of a text in hexadecimal digits. Not against people who want two texts with the same: against chance. */
function fingerprint(text: string): string {
  let [high, low] = [0x811c9dc5, 0x9e3779b9];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, FACTORS[0]);
    low = Math.imul(low ^ code, FACTORS[1]);
    low ^= low >>> 15;
  }
  high ^= high >>> 16;
  return ((high >>> 0) % 0x10000).toString(16).padStart(4, '0') + (low >>> 0).toString(16).padStart(8, '0');
}

/** True if a run makes bursts as long as it has this agent. A model call that waits for a batch is ended by another workflow, as an activity. */
export function makesBursts({ burst, tier }: Pick<AgentSnapshot, 'burst'> & { tier?: Tier }): boolean {
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
