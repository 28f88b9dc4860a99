import type { LonghaulClient, RunHandle } from '../../src/client/index.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import type { RunOverrides, SessionInput } from '../../src/core/domain/run-input.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import type { ProgramInput } from '../../src/core/protocol.ts';
import type { AnyProgram } from '../../src/define/program/program-definition.ts';
import { callTool, say, type ScriptedModel, type ScriptEntry, together } from '../../src/testing/index.ts';
import type { CreateWorkerOptions } from '../../worker/index.ts';
import { until } from '../server/testbed/until.ts';

/** A run to record: the answers of the model, and the requests to the run meanwhile. */
export type Scenario = AgentScenario | ProgramScenario;

/** The part of a scenario that does not depend on what runs. */
interface Circumstances {
  /** The answers of the provider `scripted`. */
  script: ScriptEntry[];
  /** The answers of the provider `child`, for the agents and programs that the run starts. */
  childScript?: ScriptEntry[];
  /** The number of history events after which the run continues as new. */
  continueAt?: number;
  /** The time limit of a workflow task: a task with a local call ends after 0.8 of it, and the call continues in another task. */
  workflowTaskTimeout?: number;
  /** Options of the worker other than agents or programs, and models. */
  worker?: Partial<CreateWorkerOptions>;
  /** The requests to the run while it is open. */
  meanwhile?: (run: RunHandle, model: ScriptedModel, client: LonghaulClient) => Promise<unknown>;
}

/** The run of an agent. */
export interface AgentScenario extends Circumstances {
  agent: string;
  /** The options of the start other than agent, input and deps. */
  start?: RunOverrides & { input?: string; messages?: readonly ContentItem[]; principal?: Principal; session?: SessionInput };
  /** A workflow of the tests instead of a run. */
  workflowType?: string;
}

/** The run of a program. The runs that it starts as children are recorded too. */
export interface ProgramScenario extends Circumstances {
  program: AnyProgram;
  /** True: the run is started with the document, and no worker has the program by its name. */
  asDocument?: true;
  /** The input of the run other than the program. */
  start?: Omit<ProgramInput, 'program' | 'parent'>;
  /** Happens before the run begins, on the same worker. */
  before?: (client: LonghaulClient, taskQueue: string) => Promise<unknown>;
}

/** One call of a tool. */
export const lookUp = callTool('search', { query: 'a' }, 'c1');

/** A call that succeeds, one that fails, and one of an unknown tool. */
export const both = together(say('looking'), lookUp, callTool('broken', {}, 'c2'), callTool('nope', {}, 'c3'));

/** Three calls. */
export const threeLookUps = together(lookUp, callTool('search', { query: 'b' }, 'c2'), callTool('search', { query: 'c' }, 'c3'));

/** Cancels a run in its second model call. */
export async function cancelled(run: RunHandle, model: ScriptedModel): Promise<void> {
  await until(() => model.requests.length === 2, 'the last answer');
  await run.cancel('recorded');
}

/** Waits until this many calls need a decision. */
export async function waiting(run: RunHandle, calls: number): ReturnType<RunHandle['approvals']> {
  let approvals = await run.approvals();
  const isWaiting = async (): Promise<boolean> => {
    approvals = await run.approvals();
    return approvals.pending.length === calls;
  };
  await until(isWaiting, `${calls} calls wait`, 30);
  return approvals;
}
