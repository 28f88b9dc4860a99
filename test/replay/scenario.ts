import type { LonghaulClient, RunHandle } from '../../src/client/index.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import type { RunOverrides, SessionInput } from '../../src/core/domain/run-input.ts';
import type { ProgramInput } from '../../src/core/protocol.ts';
import type { AnyProgram } from '../../src/define/program/program-definition.ts';
import type { ScriptEntry, ScriptedModel } from '../../src/testing/index.ts';
import type { CreateWorkerOptions } from '../../worker/index.ts';

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
