import type { LonghaulClient, RunHandle } from '../../src/client/index.ts';
import type { ContentItem } from '../../src/core/domain/content/content.ts';
import type { RunOverrides } from '../../src/core/domain/run/overrides.ts';
import type { ScriptEntry, ScriptedModel } from '../../src/testing/index.ts';
import type { CreateWorkerOptions } from '../../worker/index.ts';

/** A run to record: the answers of the model, and the requests to the run meanwhile. */
export interface Scenario {
  agent: string;
  script: ScriptEntry[];
  /** The options of the start beside agent, input and deps. */
  start?: RunOverrides & { messages?: readonly ContentItem[] };
  /** A workflow of the tests instead of a run. */
  workflowType?: string;
  /** The number of history events after which the run continues as new. */
  continueAt?: number;
  /** The time limit of a workflow task: a task with a local call ends after 0.8 of it, and the call goes on in another task. */
  workflowTaskTimeout?: number;
  /** Options of the worker beside agents and model. */
  worker?: Partial<CreateWorkerOptions>;
  /** The requests to the run while it is open. */
  meanwhile?: (run: RunHandle, model: ScriptedModel, client: LonghaulClient) => Promise<unknown>;
}
