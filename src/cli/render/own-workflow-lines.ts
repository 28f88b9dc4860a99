import type { OwnWorkflow } from '../../client/own-workflow.ts';
import { printable, printableLine, shellCommand } from '../../core/domain/text.ts';
import type { ServerFlags } from '../program/command.ts';
import type { Output } from '../output.ts';
import { serverOptions } from '../program/server-options.ts';
import { tableLines } from './table-lines.ts';

/** The output that such a workflow is shown with. */
interface WorkflowLook {
  output: Pick<Output, 'look'>;
  /** The workflow in the Temporal UI. */
  link?: string | undefined;
  flags?: ServerFlags;
}

/** Returns the lines for a workflow of the user's own: its facts, and the runs of agents that it started. */
export function ownWorkflowLines(workflow: OwnWorkflow, { output, link, flags = {} }: WorkflowLook): string[] {
  const { workflowId, workflowType, status, startTime, endTime, childRuns } = workflow;
  const facts: [string, string][] = [
    ['Workflow', printable(workflowId)],
    ['Type', `${printable(workflowType)}: a workflow of your own, no run of an agent`],
    ['Status', status],
    ['Started', startTime],
    ...(endTime === null ? [] : [['Ended', endTime] satisfies [string, string]]),
    ...(link === undefined ? [] : [['UI', link] satisfies [string, string]]),
  ];
  const lines = facts.map(([name, value]) => `${output.look('dim', name.padEnd(9))} ${value}`);
  const [first] = childRuns;
  if (first === undefined) return [...lines, '', 'It has started no run of an agent as a child workflow.'];
  const hint = shellCommand('show', { operands: [first.runId], options: serverOptions(flags) });
  const rows = childRuns.map(({ runId, agentName, status: state }) => [printable(runId), printable(agentName ?? '?'), state]);
  return [...lines, '', ...tableLines(['CHILD RUN', 'AGENT', 'STATUS'], rows, output), '', output.look('cyan', printableLine(hint))];
}
