import type { TerminalStatus } from '../core/domain/run.ts';
import type { RunResult } from '../core/domain/result.ts';
import type { DecisionHookContext } from './decision-hooks.ts';

/** The end of a run, as `notifyEnded` receives it. */
export interface EndedNotice {
  /** The id of this end, the same on every call about it: pass it to every service that must not act twice. */
  readonly id: string;
  readonly runId: string;
  readonly agentName: string;
  readonly status: TerminalStatus;
  /** The result as `handle.result()` returns it, without its steps. */
  readonly result: RunResult<unknown>;
}

/** Called in an activity when a run has ended, before its workflow closes: at least once, with a stable id. If it throws, it is retried. */
export type NotifyEnded = (ended: EndedNotice, context: DecisionHookContext) => Promise<void> | void;
