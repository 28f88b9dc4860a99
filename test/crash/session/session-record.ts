import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { RecordOfSession } from './held-session.ts';

/** The data about a session after its end. */
export interface SessionRecord extends RecordOfSession {
  /** The results of all turns, read after the end. */
  turns: RunResultJson<unknown>[];
  /** The numbers of the turns that answered, by the messages, as they were read when they had ended. */
  answeredIn: Record<string, number>;
  /** The code of the refusal of a message at the limit of the session. */
  refusal: string;
  /** The status of the session while a call waited for the decision. */
  waiting: { status: string; waitingFor: string[] };
  /** The keys of the entries that the memory has for its user. */
  memory: string[];
}
