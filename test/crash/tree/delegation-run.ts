import type { Event } from '../../../src/core/domain/record.ts';
import type { AggregatedUsage } from '../../../src/core/domain/usage.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { Ask, Effect } from '../processes/ledger.ts';
import type { RunTree, ApprovalView } from '../../../src/client/index.ts';
import { AGENT_RUN, type RunInput } from '../../../src/core/protocol.ts';
import { ofTopRun } from '../points/points.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown, within, attemptsGivenUp, startOnce } from '../runs/run-on-server.ts';
import { armFor, type Disturbance, disturbUntilEnded, killsOf, killIdle } from '../subject.ts';
import { CHIEF, REFUND } from './delegation.ts';
import { setTimeout as pause } from 'node:timers/promises';

/** The result and the events of one run. */
export interface RunOfTree {
  /** With its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
}

/** The data about a tree of runs after its end. */
export interface TreeRecord {
  runId: string;
  /** By their place in the tree. The root's place is empty. */
  runs: Record<string, RunOfTree>;
  /** The sum over the events of the tree. */
  tally: AggregatedUsage;
  /** The status of the root, and its pending approvals, while only a descendant's wait was in progress. */
  waiting: { status: string; children: string[]; pending: string[] };
  /** The number of executions of the root. */
  executions: number;
  effects: Effect[];
  asks: Ask[];
  /** The number of attempts that the server has given up because their heartbeats stopped, by the points of `asks`. */
  givenUp: ReadonlyMap<string, number>;
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
}

/** The longest waits are those for attempts without heartbeats. */
const PATIENCE_MS = 150_000;

/** Does a run of the root, with all its descendants. Throws if it does not end. */
export async function runDelegation(testbed: CrashTestbed, runId: string, disturbance: Disturbance): Promise<TreeRecord> {
  const deadline = Date.now() + PATIENCE_MS;
  const { worker, client, ledger } = testbed;
  const kills = killsOf(testbed);
  const read = <Result>(what: string, work: () => Promise<Result>): Promise<Result> => retryWhileDown(what, deadline, work);
  await armFor(testbed, runId, disturbance);
  const decisions = new DelegationDecisions(testbed, { runId, disturbance, deadline });
  const input: RunInput = { agent: CHIEF, input: 'See to the lamp' };
  await read('The start', () => startOnce(testbed, { runId, workflow: AGENT_RUN, input }));
  const run = client.handle(runId);
  const ending = read('The end of the run', () => run.result());
  const disturbed = disturbUntilEnded(disturbance, ending);
  await within('The run', deadline, Promise.race([ending, decisions.failed]));
  await disturbed;
  const tree = await read('Reading the tree', () => run.tree());
  const runs: Record<string, RunOfTree> = {};
  for (const id of runsIn(tree)) runs[ofTopRun(id, '').path] = await read('Reading a run', () => runOfTree(testbed, id));
  const givenUp = await read('Reading the history', () => attemptsGivenUp(testbed, runsIn(tree)));
  const { executions } = await read('The status', () => run.status());
  await worker.whenReady();
  return {
    runId,
    runs,
    tally: tree.treeUsage,
    waiting: decisions.waiting ?? { status: 'never idle', children: [], pending: [] },
    executions,
    effects: ledger.effects(runId),
    asks: ledger.asks(runId),
    givenUp,
    kills: killsOf(testbed) - kills,
  };
}

function runsIn({ runId, children }: RunTree): string[] {
  return [runId, ...children.flatMap(runsIn)];
}

async function runOfTree({ client }: CrashTestbed, runId: string): Promise<RunOfTree> {
  const run = client.handle<unknown>(runId);
  return { result: (await run.result({ steps: true })).toJSON(), events: await Array.fromAsync(run.events()) };
}

const LOOK_EVERY_MS = 100;

/** The run at the root, whose tree is decided about. */
interface DecidedRun {
  runId: string;
  disturbance: Disturbance;
  deadline: number;
}

/** The decisions of an approver about one tree: all are listed and made at its root. */
class DelegationDecisions {
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
