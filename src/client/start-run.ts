import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import type { AnyAgent } from '../define/agent-definition.ts';
import type { ContentPart } from '../domain/content.ts';
import { LonghaulError } from '../domain/error.ts';
import type { LimitOptions } from '../domain/limit-options.ts';
import { outputText } from '../domain/output-text.ts';
import { summaryText } from '../domain/summary-text.ts';
import { AGENT_RUN, DEFAULT_TASK_QUEUE, type RunInput } from '../protocol.ts';
import { checkRunId } from './run-id.ts';
import { runInput } from './run-input.ts';

/** How a run is started. */
export interface StartOptions<Deps = unknown> {
  /** Text, or parts where media is involved. */
  input: string | ContentPart[];
  /** Run-scoped JSON data: user id, session, preferences. */
  deps?: Deps;
  /** Identifies the run. Choose it yourself and the same start twice is one run. Default: the agent's name and a UUID. */
  runId?: string;
  /** What happens when the run id is taken: `refuse` throws `run_exists` (default), `return` gives the run that exists. */
  ifExists?: 'refuse' | 'return';
  /** Overrides the agent's step limit. */
  maxIterations?: number;
  /** Overrides other limits of the agent, each by itself: `{costUsd: 0.5, deadline: '2h'}`. */
  limits?: LimitOptions;
  taskQueue?: string;
}

/** Starts the workflow of a run and returns its id. Refuses what cannot run before anything is sent. */
export async function startRun(
  client: Client,
  agent: AnyAgent | string,
  options: StartOptions,
  defaultTaskQueue?: string,
): Promise<string> {
  const input = runInput(agent, options);
  const name = input.agent;
  const runId = options.runId === undefined ? `${name}-${randomUUID()}` : checkRunId(options.runId);
  try {
    await client.workflow.start<(input: RunInput) => Promise<unknown>>(AGENT_RUN, {
      workflowId: runId,
      taskQueue: options.taskQueue ?? defaultTaskQueue ?? DEFAULT_TASK_QUEUE,
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      staticSummary: summaryText(`${name}: ${outputText(input.input)}`),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    if (options.ifExists !== 'return') {
      throw new LonghaulError(
        'run_exists',
        `Run "${runId}" exists already: choose another run id, or start with ifExists: 'return' to get that run`,
      );
    }
  }
  return runId;
}
