import { setTimeout as pause } from 'node:timers/promises';
import type { ApprovalView, RunTree } from '../../../src/client/index.ts';
import { ofTopRun } from '../points/points.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown } from '../processes/retry-while-down.ts';
import { type Disturbance, killIdle } from '../runs/disturbance.ts';
import { REFUND } from './delegation.ts';
import type { TreeRecord } from './tree-record.ts';

const LOOK_EVERY_MS = 100;

/** The run at the root, whose tree is decided about. */
interface DecidedRun {
  runId: string;
  disturbance: Disturbance;
  deadline: number;
}

/** The decisions of an approver about one tree: all are listed and made at its root. */
export class DelegationDecisions {
  /** The answers of the root while a descendant waited and nothing else was in progress. */
  waiting: TreeRecord['waiting'] | undefined;
  /** Rejects if a decision cannot be made. */
  readonly failed: Promise<never>;
  readonly #testbed: CrashTestbed;
  readonly #run: DecidedRun;
  readonly #begun = new Set<string>();

  /** Decides from now on, each call once. */
  constructor(testbed: CrashTestbed, run: DecidedRun) {
    this.#testbed = testbed;
    this.#run = run;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.failed.catch(() => undefined);
    testbed.worker.listen('waiting', ({ runId, callId }) => {
      if (ofTopRun(runId, '').runId !== run.runId || this.#begun.has(callId)) return;
      this.#begun.add(callId);
      this.#decide(callId).catch(reject);
    });
  }

  async #decide(callId: string): Promise<void> {
    const { runId, disturbance, deadline } = this.#run;
    const root = this.#testbed.client.handle(runId);
    const waiting = await this.#listed(callId);
    if (callId === REFUND.callId && this.waiting === undefined) {
      await this.#look('The tree', () => root.tree(), restsBelow);
      await killIdle(this.#testbed, runId, disturbance);
      // The signal that notifies the root of the wait may come after the wait has begun.
      const { status, waitingChildren = [] } = await this.#look(
        'The status',
        () => root.status(),
        (seen) => seen.status === 'pending_confirmation',
      );
      const { pending } = await retryWhileDown('The approvals', deadline, () => root.approvals());
      this.waiting = {
        status,
        children: waitingChildren.map((id) => ofTopRun(id, '').path),
        pending: pending.map(({ runId: of = runId, toolName }) => ofTopRun(of, toolName).point),
      };
    }
    await retryWhileDown(`The approval of ${callId}`, deadline, () => root.approve(waiting, { id: callId, by: 'boss' }));
  }

  /** Waits until the root lists the call. */
  async #listed(callId: string): Promise<ApprovalView> {
    const root = this.#testbed.client.handle(this.#run.runId);
    const find = ({ pending }: { pending: ApprovalView[] }): ApprovalView | undefined => pending.find((one) => one.callId === callId);
    const list = await this.#look(
      'The approvals',
      () => root.approvals(),
      (listed) => find(listed) !== undefined,
    );
    return find(list) as ApprovalView;
  }

  async #look<Seen>(what: string, look: () => Promise<Seen>, isMet: (seen: Seen) => boolean): Promise<Seen> {
    const { deadline } = this.#run;
    for (;;) {
      const seen = await retryWhileDown(what, deadline, look);
      if (isMet(seen)) return seen;
      if (Date.now() > deadline) throw new Error(`${what}: not as expected in time`);
      await pause(LOOK_EVERY_MS);
    }
  }
}

/** True if all descendants of the root have ended, except the waiting ones. */
function restsBelow({ children }: RunTree): boolean {
  return children.every((child) => (child.status === 'completed' || child.waitingFor.length > 0) && restsBelow(child));
}
