import type { LimitChanges } from '../agent/limits.ts';

/** The agent that a tool runs, as it is pinned for a run. */
export interface AgentOfTool {
  /** The name of the agent. */
  name: string;
  /** The fields of the deps of the run that the agent gets. */
  share: string[];
  /** The limits of one run of it. */
  limits?: LimitChanges;
  /** Its result is that of the run. */
  final?: true;
  /** The tool has the parameter `request` alone, whose text the agent gets. Absent: it gets the arguments as JSON. */
  request?: true;
  /** The agent is one of a parallel flow: it gets the input and the deps of the run, and the run keeps no part of its limits. */
  branch?: true;
  /** The agent is kept between the calls of the tool, as a session. */
  kept?: true;
  /** The agent starts no runs of its own. */
  leaf?: true;
}
