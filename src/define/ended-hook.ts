import type { TerminalStatus } from '../core/domain/run/run-status.ts';
import type { RunResult } from '../core/domain/run/run-result.ts';
import type { DecisionHookContext } from './decision-hooks.ts';

/** The end of a run, as `notifyEnded` is told. */
export interface EndedNotice {
  /** The same whenever somebody is told of this end, and of no other: hand it to whatever must not act twice. */
  readonly id: string;
  readonly runId: string;
  readonly agentName: string;
  readonly status: TerminalStatus;
  /** As `handle.result()` gives it, without its steps. */
  readonly result: RunResult<unknown>;
}

/** Called in an activity when a run has ended, before its workflow closes: at least once, with a stable id. Throwing is tried again. */
export type NotifyEnded = (ended: EndedNotice, context: DecisionHookContext) => Promise<void> | void;
