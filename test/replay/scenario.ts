import type { LonghaulClient, RunHandle } from '../../src/client/index.ts';
import type { ContentItem } from '../../src/core/domain/content/content.ts';
import type { RunOverrides } from '../../src/core/domain/run/overrides.ts';
import type { ScriptEntry, ScriptedModel } from '../../src/testing/index.ts';
import type { CreateWorkerOptions } from '../../worker/index.ts';

/** A run to record: what the model answers, and what happens to the run meanwhile. */
export interface Scenario {
  agent: string;
  script: ScriptEntry[];
  /** What the start says beside agent, input and deps. */
  start?: RunOverrides & { messages?: readonly ContentItem[] };
  /** A workflow of the test's own instead of a run. */
  workflowType?: string;
  /** Events of history after which the run continues as new. */
  continueAt?: number;
  /** How long a task of the workflow may take: after 0.8 of that one with a local call goes on in another task. */
  workflowTaskTimeout?: number;
  /** What the worker has beside agents and model. */
  worker?: Partial<CreateWorkerOptions>;
  /** What happens to the run while it goes on. */
  meanwhile?: (run: RunHandle, model: ScriptedModel, client: LonghaulClient) => Promise<unknown>;
}
