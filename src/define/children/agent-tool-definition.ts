import type { LimitChanges } from '../../core/domain/limits.ts';

/** The agent of a tool that `agentTool` returned. */
export interface AgentToolDefinition {
  /** The name of the agent. */
  readonly name: string;
  /** The agent itself; absent if the tool names one of the worker. */
  readonly definition?: { readonly kind: 'longhaul.agent'; readonly name: string };
  /** The fields of the deps that the agent gets. */
  readonly share: readonly string[];
  /** The limits of one run of it. */
  readonly limits?: LimitChanges;
  /** Its result is that of the run. */
  readonly final?: true;
  /** It is an agent of a parallel flow. */
  readonly branch?: true;
  /** It is kept between the calls, as a session. */
  readonly kept?: true;
  /** The tool has the parameter `request` alone. */
  readonly request?: true;
}
