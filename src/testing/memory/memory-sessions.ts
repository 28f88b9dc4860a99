import { ENDED_SESSION, messageOfCall, messageProblem } from '../../core/activity-requests/next-turn-requests.ts';
import type { ChildCall, ChildOutcome } from '../../core/domain/children/child-call.ts';
import type { RunResultFields } from '../../core/domain/run/result.ts';
import type { MessageReceiver } from '../../core/handlers/message-receiver.ts';
import { takeSignal } from '../../core/handlers/requests.ts';
import type { SIGNALS } from '../../core/protocol.ts';
import { roundTrip } from './payload-round-trip.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A session that a run in memory keeps. */
export interface KeptSession extends MessageReceiver {
  /** Undefined until the session has ended. */
  readonly result?: RunResultFields;
  /** Runs the session to its end. Never rejects. */
  execute(): Promise<RunResultFields>;
  /** Handles what has arrived in the inbox. */
  received(): void;
}

/** A turn of a session that a run in memory keeps. */
export interface MemoryTurn extends Pick<ChildCall, 'runId' | 'next'> {
  turn: number;
  of?: ChildCall['of'] | undefined;
  /** The session, if the turn is its first. */
  session?: KeptSession;
  /** True once the turn is given up. */
  isGivenUp: () => boolean;
}

/** The sessions that a run in memory keeps, in place of their workflows. */
export class MemorySessions {
  readonly #time: VirtualTime;
  readonly #sessions = new Map<string, { session: KeptSession; ended: Promise<RunResultFields> }>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Runs a turn to its end. A turn that is given up is interrupted, and the session goes on. */
  async runTurn({ runId, turn, next, of, session: first, isGivenUp }: MemoryTurn): Promise<ChildOutcome> {
    if (first !== undefined) this.#sessions.set(runId, { session: first, ended: first.execute() });
    const session = this.#sessions.get(runId)?.session;
    const problem = next === undefined ? undefined : messageProblem(next);
    if (problem !== undefined) return { type: 'failed', ...problem, unstarted: true };
    if (session === undefined || session.inbox.closed) return { type: 'failed', ...ENDED_SESSION, unstarted: true };
    if (next !== undefined) this.#signal(session, 'nextTurn', messageOfCall(next, of));
    const ended = (): RunResultFields | undefined => {
      const result = session.state?.turns?.find((one) => one.turn === turn);
      return result === undefined ? session.result : { ...result, steps: [] };
    };
    await this.#time.until(() => ended() !== undefined || isGivenUp());
    const isInterrupted = ended() === undefined;
    if (isInterrupted) this.#signal(session, 'interrupt', { turn });
    await this.#time.until(() => ended() !== undefined);
    const result = ended();
    if (result === undefined) throw new TypeError(`Turn ${turn} of session "${runId}" has no result`);
    return { type: isInterrupted ? 'cancelled' : 'ended', result: roundTrip(result) };
  }

  /** Closes sessions, all of them by default, and waits for their ends. */
  async close(runIds: Iterable<string> = this.#sessions.keys()): Promise<void> {
    const closing = [...runIds].flatMap((runId) => this.#sessions.get(runId) ?? []);
    for (const { session } of closing) if (!session.inbox.closed) this.#signal(session, 'close', {});
    await Promise.all(closing.map(({ ended }) => ended));
  }

  #signal(session: KeptSession, name: keyof typeof SIGNALS, input: object): void {
    takeSignal(session, name, roundTrip(input), this.#time.now());
    session.received();
  }
}
