import type { RunTree } from '../../client/run-tree.ts';
import { counted, printableLine } from '../../core/domain/text.ts';
import { type AggregatedUsage, dollars } from '../../core/domain/usage.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { Look, Output } from '../output.ts';
import { branches } from '../render/branches.ts';

/** Returns a run with the runs below it as a tree: one line for each. Ids of runs below are shown without that of the run above. */
export function treeLines(tree: RunTree, output: Pick<Output, 'look'>): string[] {
  const { children, usage, treeUsage } = tree;
  const total = children.length === 0 ? [] : [`tree: ${spentText(treeUsage)}`];
  return linesOf(tree, tree.runId, [spentText(usage), ...total], output);
}

function linesOf(
  { children, ...run }: Omit<RunTree, 'treeUsage'>,
  shownId: string,
  spent: string[],
  output: Pick<Output, 'look'>,
): string[] {
  const { agentName, kind, runId, status, waitingFor } = run;
  const facts = [shownId, stepsText(run, kind), ...spent].map(printableLine).join(' · ');
  const waits = waitingFor.length === 0 ? '' : ` ${output.look('yellow', printableLine(`waits for ${waitingFor.join(', ')}`))}`;
  return [
    `${output.look('bold', printableLine(agentName))} ${look(status, output)} ${output.look('dim', `· ${facts}`)}${waits}`,
    ...branches(children, (child) => linesOf(child, child.runId.slice(runId.length + 1), [spentText(child.usage)], output), output),
  ];
}

function stepsText({ steps, limits, turns }: Pick<RunTree, 'steps' | 'limits' | 'turns'>, kind: RunTree['kind']): string {
  if (turns !== undefined) return `${counted(turns, 'turn')} · ${counted(steps, 'step')}`;
  return kind === 'program' ? counted(steps, 'model call') : `${steps}/${limits?.steps ?? 0} steps`;
}

/** Returns the tokens and the cost, with those that no provider has reported. */
function spentText({ totalTokens, costUsd, estimated }: AggregatedUsage): string {
  const cost = (costUsd ?? 0) + (estimated?.costUsd ?? 0);
  return [
    counted(totalTokens + (estimated?.totalTokens ?? 0), 'token'),
    ...(costUsd === undefined && estimated?.costUsd === undefined ? [] : [dollars(cost)]),
  ].join(', ');
}

const LOOKS: Partial<Record<RunStatus, Look>> = {
  completed: 'green',
  error: 'red',
  cancelled: 'red',
  max_iterations_reached: 'yellow',
  limit_reached: 'yellow',
  pending_confirmation: 'yellow',
};

function look(status: RunStatus, output: Pick<Output, 'look'>): string {
  const name = LOOKS[status];
  return name === undefined ? status : output.look(name, status);
}
