/** The name of the tool by which an agent hands the run over to another. */
export const TRANSFER_TO_AGENT = 'transfer_to_agent';

/** The most handoffs of a run whose agent sets no other number. */
export const DEFAULT_MAX_HANDOFFS = 10;

/** The agents that an agent may hand the run over to, pinned in its snapshot. */
export interface HandoffPolicy {
  /** Their names. */
  agents: string[];
  /** The most handoffs of a run that begins with the agent. */
  max: number;
}
