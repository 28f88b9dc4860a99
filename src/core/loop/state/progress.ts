// Shared state: the progress of a run.

import type { RunLimits } from '../../domain/limits.ts';
import type { Archiving, NotArchived } from '../../domain/run.ts';
import type { CallsNotRun } from '../../domain/tool-calls.ts';
import { addRunUsage, type AggregatedUsage, noUsage } from '../../domain/usage.ts';
import { hasSeveralAgents } from '../handoffs/transfer-calls.ts';
import { usedAmounts } from '../limits/limits.ts';
import type { RunState } from './run-state.ts';

/** The progress of a run, and the tools that it waits for. */
export interface RunProgress {
  currentStep: number;
  usage: AggregatedUsage;
  /** Present if runs below this one have ended, and their usage is not part of `usage`. */
  treeUsage?: AggregatedUsage;
  /** The calls that tools executed. */
  toolCallsTotal: number;
  /** The calls that did not run. Absent if all have run. */
  toolCallsNotRun?: CallsNotRun;
  toolCallsStarted: number;
  /** The number of recorded events. */
  events: number;
  /** The names of the tools whose calls wait for a decision. */
  waitingFor: string[];
  /** Undefined until the agent is resolved, like the state. */
  limits?: RunLimits;
  /** The agent that acts, if the run was handed over. */
  currentAgent?: string;
  /** The ids of the agents that have ended in the step that goes on. */
  endedChildren?: string[];
  lastError?: string;
  archiving?: Archiving;
  notArchived?: NotArchived[];
}

/** Returns the progress of a run in that state; without a state, of a run that has not begun. */
export function progressOf(state: RunState | undefined): RunProgress {
  if (state === undefined) {
    return { currentStep: 0, usage: noUsage(), toolCallsTotal: 0, toolCallsStarted: 0, events: 0, waitingFor: [] };
  }
  const {
    context,
    limits,
    usage,
    toolCallsTotal,
    toolCallsNotRun,
    window,
    approvals,
    lastError,
    archiving,
    notArchived,
    below,
    endedChildren,
    snapshot,
  } = state;
  return {
    currentStep: context.currentStep,
    usage,
    ...(below === undefined ? {} : { treeUsage: addRunUsage(usage, below.usage) }),
    toolCallsTotal,
    ...(toolCallsNotRun === undefined ? {} : { toolCallsNotRun }),
    toolCallsStarted: usedAmounts(state).toolCalls,
    events: window.through,
    waitingFor: approvals.pending.map(({ toolName }) => toolName),
    limits,
    ...(endedChildren === undefined ? {} : { endedChildren }),
    ...(hasSeveralAgents(state) ? { currentAgent: snapshot.name } : {}),
    ...(lastError === undefined ? {} : { lastError }),
    ...(archiving === undefined ? {} : { archiving }),
    ...(notArchived === undefined ? {} : { notArchived }),
  };
}
