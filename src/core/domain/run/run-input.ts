import type { AgentDocument } from '../agent/agent-document.ts';
import type { LimitChanges } from '../agent/limits.ts';
import type { FlowInput } from '../flows/flow-policy.ts';
import type { JsonObject } from '../json/json.ts';
import type { RunOpening } from './opening.ts';
import type { RunOverrides } from './overrides.ts';
import type { ParentInput } from './parent-run.ts';

/** The input of a run: plain JSON, the same from the client, the CLI, the Temporal UI and a Schedule. */
export type RunInput = RunTerms & RunOpening;

/** The input of a run without the conversation that it begins with. */
export interface RunTerms extends RunOverrides {
  /** The name of the agent. */
  agent: string;
  /** The agent itself, if it is a step of the program that starts the run. */
  document?: AgentDocument;
  /** The order of agents, if the run is that of a flow which no worker has by its name. */
  flow?: FlowInput;
  deps?: JsonObject;
  /** Overrides the agent's step limit. */
  maxIterations?: number;
  /** Overrides the other limits of the agent. */
  limits?: Omit<LimitChanges, 'maxIterations'>;
  /** Set by the run that starts this one as its child. */
  parent?: ParentInput;
}
