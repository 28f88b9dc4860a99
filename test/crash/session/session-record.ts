import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { Ask, Effect } from '../processes/ledger.ts';

/** The data about a session after its end. */
export interface SessionRecord {
  runId: string;
  /** The result of the whole session, with its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
  /** The results of all turns, as they are read after the end. */
  turns: RunResultJson<unknown>[];
  /** The numbers of the turns that answered, by the messages, as they were read when they had ended. */
  answeredIn: Record<string, number>;
  /** The code with which a message was refused at the limit of the session. */
  refusal: string;
  /** The status of the session while a call waited for the decision. */
  waiting: { status: string; waitingFor: string[] };
  /** The number of its executions. */
  executions: number;
  effects: Effect[];
  /** The keys of the entries that the memory has for its user. */
  memory: string[];
  asks: Ask[];
  /** The number of attempts that the server has given up because their heartbeats stopped, by the points of `asks`. */
  givenUp: ReadonlyMap<string, number>;
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
}
