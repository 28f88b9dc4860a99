import { type AgentSnapshot, suppliedTool, type ToolSnapshot, TRANSFER_TO_AGENT } from './agent.ts';
import { outputText } from './content.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { isRecall } from './memory.ts';
import type { ConversationEvent } from './model.ts';
import type { Event } from './record.ts';
import type { Notice, RunStatus } from './run.ts';
import { counted } from './text.ts';
import { addRunUsage, type AggregatedUsage, noUsage } from './usage.ts';

/** The other agents of a run that has been handed over. Plain JSON, carried into the next execution unchanged. */
export interface HandoffState {
  /** The name of the agent, or of the flow, that the run began with. */
  first: string;
  /** The maximum number of handoffs of the run; of each turn, if it is a session. */
  max: number;
  /** The number of handoffs so far. */
  count: number;
  /** The number of them in earlier turns of a session. Absent if there were none. */
  inEarlierTurns?: number;
  /** The snapshots of the run's other agents, the most recent at the end. Their number is bounded: a dropped one is resolved again. */
  pinned: AgentSnapshot[];
  /** The snapshot of the agent that takes over after the current step. */
  next?: AgentSnapshot;
  /** Notices about the next agent's tools. */
  notices?: Notice[];
  /** A flow determines the order of the agents. */
  ofFlow?: true;
  /** The names of the agents that have answered in this turn, as far as the first step of a turn makes a difference to them. */
  acted?: string[];
  /** The usage of each agent that has acted, by name, in the order of their first turns. In a session, the usage of the current turn. */
  usage: [name: string, usage: AggregatedUsage][];
}

/** The maximum number of inactive agents' snapshots that a run keeps, and their maximum bytes of JSON. */
export const PINNED_SNAPSHOTS = { count: 20, bytes: 200_000 };

/** An agent that can take over, as described to the model. */
export interface TransferTarget {
  name: string;
  description?: string | undefined;
}

/** Returns the tool that the model uses to hand the run over to one of these agents. Code cannot call it. */
export function transferTool(targets: readonly TransferTarget[]): ToolSnapshot {
  const parameters = parametersOf(targets);
  const description = [
    'Transfers the conversation to another agent, which continues it from here and answers in your place. Call it alone, once. The agents:',
    ...targets.map((target) => (target.description === undefined ? `- ${target.name}` : `- ${target.name}: ${target.description}`)),
  ].join('\n');
  return { ...suppliedTool(TRANSFER_TO_AGENT, description, parameters), handoff: true };
}

function parametersOf(targets: readonly TransferTarget[]): JsonObject {
  return {
    type: 'object',
    properties: {
      agent: { type: 'string', enum: targets.map(({ name }) => name), description: 'The name of the agent that takes over.' },
      reason: { type: 'string', description: 'Why it takes over, and what it should do.' },
    },
    required: ['agent'],
    additionalProperties: false,
  };
}

/** Returns the result of a successful transfer. */
export function transferred(name: string): string {
  return `The conversation was transferred to agent "${name}", which continues it.`;
}

/** The result of a transfer after the first one of a response. */
export const ONE_TRANSFER = 'Not transferred: only the first transfer of a response counts.';

/** The result of a transfer in a response that ends the run. */
export const RUN_ENDS = 'Not transferred: the run ends with this response.';

/** Returns the result of a transfer in a run without remaining handoffs. */
export function noHandoffsLeft(max: number, ofWhat: 'run' | 'turn'): string {
  return `Not transferred: the ${ofWhat} has used its ${counted(max, 'handoff')}. Go on yourself.`;
}

/** Returns the result of a transfer to an agent that cannot take over. */
export function cannotTakeOver(name: string, problem: string): string {
  return `Not transferred to agent "${name}": ${problem}`;
}

/** The run of one agent of a parallel flow. */
export interface Branch {
  /** The name of the agent. */
  name: string;
  /** Absent if the run could not be started or read. */
  runId?: string;
  /** How the branch ended. */
  status: RunStatus;
  /** Its answer. */
  output: JsonValue;
  /** The code and the message of a branch that failed; null otherwise. */
  error: string | null;
  /** The branch's tokens and costs. */
  usage: AggregatedUsage;
}

/** The merged outcome of agents that ran in parallel. */
interface MergedBranches {
  /** The output of each completed branch under its name. */
  output: string;
  /** The uncompleted branches, in words: `b (error: down), c (pending_confirmation)`. Absent if all have completed. */
  problem?: string;
  usage: AggregatedUsage;
}

/** Merges the runs of parallel agents: the output of each under its name, in the order of the agents. */
export function mergeBranches(branches: readonly Branch[]): MergedBranches {
  const usage = branches.reduce((total, branch) => addRunUsage(total, branch.usage), noUsage());
  const open = branches.filter(({ status }) => status !== 'completed');
  const done = branches.filter(({ status }) => status === 'completed');
  const output = done.map((branch) => `[${branch.name}]\n${outputText(branch.output)}`).join('\n\n');
  return { output, ...(open.length === 0 ? {} : { problem: open.map(problemOf).join(', ') }), usage };
}

/** Merges the events of runs that began with the same input: the input once, then the events of each run, in the order of the agents. */
export function mergeEvents(records: readonly (readonly Event[])[]): Event[] {
  const [first = []] = records;
  const beginning = first.findIndex(({ author }) => author !== 'user');
  const length = beginning < 0 ? first.length : beginning;
  return [...first.slice(0, length), ...records.flatMap((events) => events.slice(length))];
}

function problemOf({ name, status, error }: Branch): string {
  return `${name} (${status}${error === null ? '' : `: ${error}`})`;
}

/** Returns the id of the event with the calls of a parallel flow's agents. Its run records one such event. */
export function branchesId(runId: string): string {
  return `${runId}/branches`;
}

/**
 * The message before the turn of an agent that only has other agents' answers: some providers refuse a conversation that ends with an
 * answer.
 */
const YOUR_TURN = 'It is your turn now. Go on from the answer above.';

/**
 * Returns the conversation with a user message after each answer that another agent continues from. This only happens in flows. Nothing is
 * recorded: the message is part of the request. `paused`: the last answer is incomplete; the model that gave it continues it, and another
 * model is told to continue from it.
 */
export function withTurns(conversation: ConversationEvent[], { paused = false } = {}): ConversationEvent[] {
  return conversation.flatMap((event, index) => {
    const next = eventAfter(conversation, index);
    if (paused && next === undefined && event.lostItems !== true) return [event];
    const isOvertaken = isAnswer(event) && (next === undefined || (isOfAgent(next) && next.author !== event.author));
    return isOvertaken ? [event, turnEvent()] : [event];
  });
}

/** Returns the next event, skipping recalled entries, which are not messages. */
function eventAfter(conversation: readonly ConversationEvent[], index: number): ConversationEvent | undefined {
  let at = index + 1;
  for (let next = conversation[at]; next !== undefined && isRecall(next); next = conversation[at]) at += 1;
  return conversation[at];
}

function turnEvent(): ConversationEvent {
  return { author: 'user', content: [{ type: 'message', role: 'user', content: YOUR_TURN }] };
}

function isAnswer({ content }: ConversationEvent): boolean {
  return content.length > 0 && content.every((item) => item.type === 'message' && item.role === 'assistant');
}

function isOfAgent({ content }: ConversationEvent): boolean {
  return content.some((item) => item.type === 'tool_call' || (item.type === 'message' && item.role === 'assistant'));
}
