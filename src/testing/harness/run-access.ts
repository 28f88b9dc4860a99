import type { LimitOptions } from '../../core/domain/agent/limit-options.ts';
import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import type { ContentPart } from '../../core/domain/content/content.ts';
import type { MessageMode } from '../../core/domain/record/queued-message.ts';
import type { TestDecision } from '../decisions.ts';

/** A run as those around it reach it, in memory or on a server. Each rejects with the error of a client where the run refuses. */
export interface RunAccess {
  send(id: string, content: string | ContentPart[], mode: MessageMode): Promise<unknown>;
  cancel(reason: string): Promise<unknown>;
  raise(id: string, limits: LimitOptions): Promise<unknown>;
  decide(id: string, waiting: ApprovalView, decision: TestDecision): Promise<unknown>;
}

/** What can be done to the worker of a run. */
export interface WorkerAccess {
  /** Ends the worker where it stands, and lets another take over. Never resolves: who asks for it dies with it. */
  kill(): Promise<never>;
  /** Cuts the worker off from its server for so many milliseconds, from now on. */
  disconnect(ms: number): void;
}
