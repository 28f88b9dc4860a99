import type { RunTree } from '../../../src/client/index.ts';
import { AGENT_RUN, type RunInput } from '../../../src/core/protocol.ts';
import { ofTopRun } from '../points/points.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown, within } from '../processes/retry-while-down.ts';
import { attemptsGivenUp } from '../program/given-up.ts';
import { armFor, type Disturbance, disturbUntilEnded, killsOf } from '../runs/disturbance.ts';
import { startOnce } from '../runs/start-once.ts';
import { CHIEF } from './delegation.ts';
import { DelegationDecisions } from './delegation-decisions.ts';
import type { RunOfTree, TreeRecord } from './tree-record.ts';

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
