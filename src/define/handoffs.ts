import { type ReplyFormat, TRANSFER_TO_AGENT } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { AnyAgent, HandoffTarget } from './agent-definition.ts';
import { nonEmpty, wholeNumber } from './option-checks.ts';
import type { AnyTool } from './tool-definition.ts';

/** The agents that an agent may hand over to, each as the definition or by name. */
export type HandoffOption = readonly (AnyAgent | string)[];

/** The agent options for handoffs. */
interface AgentHandoffOptions {
  name: string;
  description?: string;
  handoffs?: HandoffOption;
  maxHandoffs?: number;
  replyFormat?: ReplyFormat;
  tools?: readonly AnyTool[];
}

/** Returns the agent options for handoffs. Throws a UsageError for options that cannot work. */
export function agentHandoffs(owner: string, options: AgentHandoffOptions): Pick<AnyAgent, 'description' | 'handoffs' | 'maxHandoffs'> {
  const { description, maxHandoffs } = options;
  const handoffs = checkTargets(owner, options);
  if (maxHandoffs !== undefined && handoffs.length === 0) {
    throw new UsageError(`${owner} has "maxHandoffs" and no "handoffs": name the agents that it hands over to`);
  }
  return {
    ...(description === undefined ? {} : { description: nonEmpty(`${owner}: "description"`, description) }),
    ...(handoffs.length === 0 ? {} : { handoffs }),
    ...(maxHandoffs === undefined ? {} : { maxHandoffs: wholeNumber(`${owner}: "maxHandoffs"`, maxHandoffs, 1) }),
  };
}

/** Returns a list with the name of the handoff tool. Empty for an agent without handoffs. */
export function transferToolName({ handoffs = [] }: { handoffs?: readonly unknown[] | undefined }): string[] {
  return handoffs.length === 0 ? [] : [TRANSFER_TO_AGENT];
}

function checkTargets(owner: string, { name: own, handoffs = [], replyFormat, tools = [] }: AgentHandoffOptions): HandoffTarget[] {
  if (!Array.isArray(handoffs)) throw new UsageError(`${owner}: "handoffs" is not a list: write [billing], or ["billing"]`);
  const targets = handoffs.map((one: AnyAgent | string) => targetOf(owner, one));
  const names = new Set<string>();
  for (const { name } of targets) {
    if (name === own) throw new UsageError(`${owner}: "handoffs" names the agent itself: name others`);
    if (names.has(name)) throw new UsageError(`${owner}: "handoffs" names the agent "${name}" twice: name each agent once`);
    names.add(name);
  }
  if (targets.length === 0) return [];
  if (tools.some((tool) => tool.name === TRANSFER_TO_AGENT)) {
    throw new UsageError(`${owner} has a tool named "${TRANSFER_TO_AGENT}", which its "handoffs" give it: give the tool another name`);
  }
  if (replyFormat === 'code') {
    throw new UsageError(`${owner} answers in code, which cannot call ${TRANSFER_TO_AGENT}: leave "handoffs" or "replyFormat" out`);
  }
  return targets;
}

function targetOf(owner: string, target: AnyAgent | string): HandoffTarget {
  if (typeof target === 'string') return { name: nonEmpty(`${owner}: a name in "handoffs"`, target) };
  if (target?.kind === 'longhaul.agent') return { name: target.name, agent: target };
  throw new UsageError(`${owner}: "handoffs" has a value that is neither an agent nor a name: make agents with defineAgent`);
}
