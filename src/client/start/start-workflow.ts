import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { type InternalWorkflowStartOptions, InternalWorkflowStartOptionsSymbol } from '@temporalio/client/lib/internal.js';
import {
  type SearchAttributePair,
  TypedSearchAttributes,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import { summaryText } from '../../core/domain/text.ts';
import { errorCode, errorMessage, LonghaulError, memberOf } from '../../core/domain/errors.ts';
import { type AGENT_RUN, DEFAULT_TASK_QUEUE, type ProgramInput, type PROGRAM_RUN, type RunInput } from '../../core/protocol.ts';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';
import { checkRunId } from '../../temporal/run-id.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { requireRun } from '../listing/foreign-workflow.ts';
import type { RunAccess } from '../principals/run-access.ts';
import { principalAttributes } from '../principals/principal-attributes.ts';
import { mergedAttributes, withPublishedAttributes } from './published-attributes.ts';
import { checkIfExists, type IfExists } from './if-exists.ts';
import { serverOptionsOf, type StartCircumstances } from './start-circumstances.ts';

/** The options of a start that do not depend on what is run. */
export interface WorkflowOptions extends StartCircumstances {
  /** Identifies the run. Choose it yourself and the same start twice is one run. Default: the agent's name and a UUID. */
  runId?: string;
  /**
   * The action if the run id is taken: `fail` throws `run_exists` (default), `return` returns the run that exists, and
   * `restartFailed` starts it again if it ended with status `error`, was terminated or timed out, and otherwise returns the
   * run that exists. If several callers start it at once, one of them does.
   */
  ifExists?: IfExists;
  taskQueue?: string;
}

/** The type of the workflow, for the Temporal Client. */
type RunWorkflow = (input: RunInput | ProgramInput) => Promise<unknown>;

/** The client's own settings that a start uses. */
export interface ClientSettings {
  taskQueue?: string | undefined;
  /** The key by which users are hashed in search attributes. */
  userKey?: string | undefined;
  /** The access of the client to runs. Default: to all. */
  access?: RunAccess;
}

/** The workflow to start. */
export interface WorkflowStart {
  type: typeof AGENT_RUN | typeof PROGRAM_RUN;
  /** The name of the agent or the program. */
  name: string;
  input: RunInput | ProgramInput;
  summary: string;
}

/** Starts the workflow of a run and returns its id. Throws `run_exists`, unless `ifExists` says otherwise. */
export async function startWorkflow(
  client: Client,
  { type, name, input, summary }: WorkflowStart,
  options: WorkflowOptions,
  settings: ClientSettings = {},
): Promise<string> {
  const ifExists = checkIfExists(options.ifExists);
  const runId = checkRunId(options.runId === undefined ? `${name}-${randomUUID()}` : options.runId);
  const workflow: WorkflowStartOptions<RunWorkflow> = {
    ...workflowOptions(input, { ...options, summary }, settings.taskQueue),
    workflowId: runId,
    workflowIdConflictPolicy: 'FAIL',
  };
  const published = principalAttributes(input.principal ?? {}, settings.userKey);
  const begun: Begun = { client, type, workflow, published };
  const isStarted = await begin(begun, options);
  // An id that is taken is refused, also if another principal has it: only a run of its own is returned to a client that acts for a principal.
  if (!isStarted && (ifExists === 'fail' || !(await reaches(settings.access, runId)))) {
    throw new LonghaulError(
      'run_exists',
      `Run "${runId}" exists already: choose another run id, or start with ifExists: 'return' to get that run, or 'restartFailed' to start it again if it has failed`,
    );
  }
  if (!isStarted && ifExists === 'restartFailed') await restartFailed(begun, options);
  return runId;
}

async function reaches(access: RunAccess | undefined, runId: string): Promise<boolean> {
  try {
    await access?.require(runId);
    return true;
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return false;
    throw error;
  }
}

/** Returns the options of the workflow of a run beside its id. */
export function workflowOptions<Input>(
  input: Input,
  { summary, ...options }: WorkflowOptions & Pick<WorkflowStart, 'summary'>,
  defaultTaskQueue?: string,
): { args: [Input]; taskQueue: string; workflowIdReusePolicy: 'REJECT_DUPLICATE'; staticSummary: string } & ReturnType<
  typeof serverOptionsOf
> {
  return {
    taskQueue: options.taskQueue ?? defaultTaskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    ...serverOptionsOf(options),
    staticSummary: summaryText(summary),
  };
}

/** A workflow that is about to be started. */
interface Begun {
  client: Client;
  type: WorkflowStart['type'];
  workflow: WorkflowStartOptions<RunWorkflow>;
  /** The search attributes that the run has if the namespace has them. */
  published: SearchAttributePair[];
}

/** Starts the workflow. False if the server has one with that id. */
async function begin({ client, type, workflow, published }: Begun, options: WorkflowOptions): Promise<boolean> {
  try {
    const { typedSearchAttributes, ...others } = workflow;
    const own = typedSearchAttributes instanceof TypedSearchAttributes ? typedSearchAttributes : undefined;
    await withPublishedAttributes(client, published, (attributes) =>
      client.workflow.start<RunWorkflow>(type, { ...others, ...mergedAttributes(own, attributes) }),
    );
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
async function restartFailed({ client, type, workflow, published }: Begun, options: WorkflowOptions): Promise<void> {
  const executionId = await failedExecution(client, workflow.workflowId);
  if (executionId === undefined) return;
  const restart: WorkflowStartOptions<RunWorkflow> & InternalWorkflowStartOptions = {
    ...workflow,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    [InternalWorkflowStartOptionsSymbol]: { requestId: `restart ${executionId}` },
  };
  await begin({ client, type, workflow: restart, published }, options);
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
function attributeProblem(error: unknown, { searchAttributes }: WorkflowOptions): LonghaulError | undefined {
  const cause = memberOf(error, 'cause') ?? error;
  if (searchAttributes === undefined || grpcCode(cause) !== GRPC.invalidArgument) return undefined;
  return new LonghaulError(
    'invalid_input',
    `The run cannot start: the server refuses it (${errorMessage(memberOf(cause, 'details') ?? cause)}). The namespace must have every name in "searchAttributes", with its type: temporal operator search-attribute create --name … --type …`,
    { cause: error },
  );
}
