import type { AgentDocument } from '../agent/agent-document.ts';
import type { LimitChanges } from '../agent/limits.ts';
import type { FlowInput } from '../flows/flow-policy.ts';
import type { JsonObject } from '../json/json.ts';
import type { RunOpening } from './opening.ts';
import type { RunOverrides } from './overrides.ts';
import type { ParentInput } from './parent-run.ts';
import type { SessionInput } from '../sessions/session-input.ts';
import type { Principal } from './principal.ts';

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
  /** The state that the run begins with. Tools change it. */
  state?: JsonObject;
  /** Whom the run acts for. */
  principal?: Principal;
  /** Overrides limits of the agent. */
  limits?: LimitChanges;
  /** The run is a session: it stays open after its answers, and may begin without an input. */
  session?: SessionInput;
  /** Set by the run that starts this one as its child. */
  parent?: ParentInput;
  /** The call of the parent that started the run, if its input or its deps are too large to be stored again: the first activity asks the parent for them. */
  fromCall?: FromCall;
}

/** A call of the parent of a run. */
export interface FromCall {
  /** The id of the event of the call, and its index in the content of that event. */
  eventId: string;
  index: number;
  /** `input` is only the beginning of the input. */
  input?: true;
  /** The deps are left out. */
  deps?: true;
}
