import type { LimitOptions } from '../../core/domain/limits.ts';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import type { ContentPart, MessageMode } from '../../core/domain/content.ts';
import type { PermissionOptions } from '../../define/permissions.ts';
import type { TestDecision } from '../decisions.ts';

/**
 * The access of a test to its run, in memory or on a server. Each method rejects with a client's error if the run
 * refuses.
 */
export interface RunAccess {
  send(id: string, content: string | ContentPart[], mode: MessageMode): Promise<unknown>;
  cancel(reason: string): Promise<unknown>;
  raise(id: string, limits: LimitOptions): Promise<unknown>;
  setPermissions(id: string, permissions: PermissionOptions): Promise<unknown>;
  decide(id: string, waiting: ApprovalView, decision: TestDecision): Promise<unknown>;
}

/** The faults that a test can cause in its worker. */
export interface WorkerAccess {
  /**
   * Kills the worker immediately and starts another one. Never resolves, because the caller is part of the killed
   * worker.
   */
  kill(): Promise<never>;
  /** Disconnects the worker from its server for so many milliseconds, starting now. */
  disconnect(ms: number): void;
}
