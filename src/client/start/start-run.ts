import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { type InternalWorkflowStartOptions, InternalWorkflowStartOptionsSymbol } from '@temporalio/client/lib/internal.js';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import { requireKnown } from '../../define/options/option-checks.ts';
import type { AnyAgent, DepsOption } from '../../define/agent-definition.ts';
import type { ModelSettings } from '../../core/domain/agent/agent-snapshot.ts';
import type { Duration } from '../../core/domain/run/duration.ts';
import { errorMessage, LonghaulError } from '../../core/domain/errors/error.ts';
import type { LimitOptions } from '../../core/domain/agent/limit-options.ts';
import type { ModelName } from '../../core/domain/agent/model-name.ts';
import { openingText, type RunOpening } from '../../core/domain/run/opening.ts';
import { memberOf } from '../../core/domain/errors/thrown.ts';
import { summaryText } from '../../core/domain/content/summary-text.ts';
import { AGENT_RUN, DEFAULT_TASK_QUEUE, type RunInput } from '../../core/protocol.ts';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';
import { checkIfExists, type IfExists } from './if-exists.ts';
import { requireRun } from '../listing/foreign-workflow.ts';
import { checkRunId } from '../../temporal/run-id.ts';
import { runInput } from './input.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { serverOptionsOf, type StartCircumstances } from './start-circumstances.ts';

/** The options of a start: with the deps that its agent takes, which are optional if the agent's schema requires none. */
export type StartOptions<GivenDeps = unknown> = RunOptions & DepsOption<GivenDeps>;

/** The options of a start without the deps. */
export type RunOptions = StartSettings & RunOpening;

/** The options of a start without the deps and without the conversation that the run begins with. */
export interface StartSettings extends StartCircumstances {
  /** Identifies the run. Choose it yourself and the same start twice is one run. Default: the agent's name and a UUID. */
  runId?: string;
  /**
   * The action if the run id is taken: `fail` throws `run_exists` (default), `return` returns the run that exists, and
   * `restartFailed` starts it again if it ended with status `error`, was terminated or timed out, and otherwise returns the
   * run that exists. If several callers start it at once, one of them does.
   */
  ifExists?: IfExists;
  /** Overrides limits of the agent, each by itself: `{steps: 30, costUsd: 0.5, deadline: '2h'}`. */
  limits?: LimitOptions;
  /** The longest duration of the run, from its start: the limit `deadline`. */
  deadline?: Duration;
  /** The model of this run instead of the agent's: `provider/model`, with a provider of the worker. */
  model?: ModelName;
  /** Settings of the model, each instead of the agent's own (`extra` as a whole). At most 16,000 bytes of JSON. */
  settings?: ModelSettings;
  /** Up to 20 words of up to 100 characters. Runs are found by them (`list({tag})`), and a provider may choose its key by them. They are always in clear text. */
  tags?: readonly string[];
  taskQueue?: string;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const START_OPTIONS: Record<keyof RunOptions | 'deps', true> = {
  input: true,
  messages: true,
  deps: true,
  runId: true,
  ifExists: true,
  limits: true,
  deadline: true,
  model: true,
  settings: true,
  tags: true,
  taskQueue: true,
  searchAttributes: true,
  memo: true,
  priority: true,
  fairnessKey: true,
};

/** The options that `client.run` takes in addition. */
const WAITING = ['steps', 'timeout', 'signal'];

/** The type of the workflow, for the Temporal Client. */
type RunWorkflow = (input: RunInput) => Promise<unknown>;

/** Starts the workflow of a run and returns its id. Throws, before anything is sent, for a run that cannot start, and a UsageError for unknown options and for messages that end with an answer. */
export async function startRun(
  client: Client,
  agent: AnyAgent | string,
  options: StartOptions,
  defaultTaskQueue?: string,
): Promise<string> {
  requireKnown('the start', options, [...Object.keys(START_OPTIONS), ...WAITING]);
  const ifExists = checkIfExists(options.ifExists);
  const input = runInput(agent, options);
  const serverOptions = serverOptionsOf(options);
  const name = input.agent;
  const runId = options.runId === undefined ? `${name}-${randomUUID()}` : checkRunId(options.runId);
  const workflow: WorkflowStartOptions<RunWorkflow> = {
    workflowId: runId,
    taskQueue: options.taskQueue ?? defaultTaskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    workflowIdConflictPolicy: 'FAIL',
    ...serverOptions,
    staticSummary: summaryText(`${name}: ${openingText(input)}`),
  };
  const isStarted = await begin(client, workflow, options);
  if (!isStarted && ifExists === 'fail') {
    throw new LonghaulError(
      'run_exists',
      `Run "${runId}" exists already: choose another run id, or start with ifExists: 'return' to get that run, or 'restartFailed' to start it again if it has failed`,
    );
  }
  if (!isStarted && ifExists === 'restartFailed') await restartFailed(client, workflow, options);
  return runId;
}

/** Starts the workflow. False if the server has one with that id. */
async function begin(client: Client, workflow: WorkflowStartOptions<RunWorkflow>, options: RunOptions): Promise<boolean> {
  try {
    await client.workflow.start<RunWorkflow>(AGENT_RUN, workflow);
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw attributeProblem(error, options) ?? error;
  }
}

/**
 * Starts the workflow of a failed run again. The server starts one for each request id: callers that saw the same failure
 * request the same start, even if that run has ended meanwhile.
 */
async function restartFailed(client: Client, workflow: WorkflowStartOptions<RunWorkflow>, options: RunOptions): Promise<void> {
  const executionId = await failedExecution(client, workflow.workflowId);
  if (executionId === undefined) return;
  const restart: WorkflowStartOptions<RunWorkflow> & InternalWorkflowStartOptions = {
    ...workflow,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    [InternalWorkflowStartOptionsSymbol]: { requestId: `restart ${executionId}` },
  };
  await begin(client, restart, options);
}

/** Temporal's statuses of a workflow that ended without doing its work. */
const FAILED = new Set(['FAILED', 'TERMINATED', 'TIMED_OUT']);

/**
 * Returns the id of the newest execution of a failed run; undefined if the run goes on, ended in another way, or was deleted
 * meanwhile. Throws `not_a_run` for a workflow of the user's own.
 */
async function failedExecution(client: Client, runId: string): Promise<string | undefined> {
  try {
    const { status, runId: executionId, type } = await withoutMemos(client).workflow.getHandle(runId).describe();
    requireRun(client, runId, type);
    return FAILED.has(status.name) ? executionId : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Returns the error for attributes that the namespace does not have, or has with another type. */
function attributeProblem(error: unknown, { searchAttributes }: RunOptions): LonghaulError | undefined {
  const cause = memberOf(error, 'cause') ?? error;
  if (searchAttributes === undefined || grpcCode(cause) !== GRPC.invalidArgument) return undefined;
  return new LonghaulError(
    'invalid_input',
    `The run cannot start: the server refuses it (${errorMessage(memberOf(cause, 'details') ?? cause)}). The namespace must have every name in "searchAttributes", with its type: temporal operator search-attribute create --name … --type …`,
    { cause: error },
  );
}
