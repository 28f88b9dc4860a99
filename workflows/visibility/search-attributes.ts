import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import type { RunStatus } from '../../src/core/domain/run.ts';
import { firstAgent } from '../../src/core/loop/handoffs/transfer-calls.ts';
import { waitingAgents } from '../../src/core/loop/children/waiting-agents.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { waitingSteps } from '../../src/core/program/state/waiting-steps.ts';
import { SEARCH_ATTRIBUTES } from '../../src/core/protocol.ts';

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);
const STATUS = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, SearchAttributeType.KEYWORD);
const TAG = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tag, SearchAttributeType.KEYWORD_LIST);
const WAITING_FOR = defineSearchAttributeKey(SEARCH_ATTRIBUTES.waitingFor, SearchAttributeType.KEYWORD_LIST);

/** Returns the status that the previous execution left in the search attributes, which the server carries over. */
export function publishedStatus(): string | undefined {
  return workflowInfo().typedSearchAttributes.get(STATUS);
}

/** Search attributes with lists: the tools that the run waits for, if they have changed, and its tags. */
type Lists = { key: typeof WAITING_FOR; value: string[] }[];

/**
 * Makes the run findable by agent, status and what it waits for. Publishes only changes, since each one is an event of
 * history, and only attributes that the namespace has: upserting a missing one fails every workflow task, and the run
 * hangs.
 */
export class SearchAttributePublisher {
  #status: RunStatus | undefined;
  #waitingFor: string | undefined;

  /** `continued`: true if the published values of the previous execution are unknown. Otherwise `status` is the published one. */
  constructor(continued: boolean, status: RunStatus = 'running') {
    this.#status = continued ? undefined : status;
    this.#waitingFor = continued ? undefined : '';
  }

  /** Publishes a run whose agent has been resolved. The server carries over its tags. */
  publishStart(snapshot: AgentSnapshot): void {
    const { tags = [], tagAttribute, searchAttributes } = snapshot;
    const tagged: Lists = tagAttribute ? [{ key: TAG, value: tags }] : [];
    if (searchAttributes) this.#publish(snapshot, { agent: firstAgent({ snapshot }), status: 'running' }, tagged);
    else if (tagAttribute) upsertSearchAttributes(tagged);
  }

  /** Publishes status and agent: that which the run began with, also if another one acts. */
  publishStatus(snapshot: AgentSnapshot, agent: string, status: RunStatus): void {
    this.#publish(snapshot, { agent, status }, this.#waiting(snapshot, []));
  }

  /** Publishes the changes since the last call. A run also waits for the steps, and the tools, whose children wait for a person. */
  publishChanges(state: RunState, waitingChildren: readonly string[]): void {
    const { snapshot, status, approvals, program } = state;
    const names = approvals.pending.map(({ toolName }) => toolName);
    const ofChildren = [...waitingSteps(program, waitingChildren), ...waitingAgents(state, waitingChildren)];
    const waiting = this.#waiting(snapshot, [...names, ...ofChildren]);
    if (waiting.length === 0 && this.#status === 'idle' && isShort(state)) return;
    if (status !== this.#status || waiting.length > 0) this.#publish(snapshot, { agent: firstAgent(state), status }, waiting);
  }

  #publish({ searchAttributes }: AgentSnapshot, { agent, status }: { agent: string; status: RunStatus }, lists: Lists): void {
    this.#status = status;
    if (!searchAttributes) return;
    upsertSearchAttributes([{ key: AGENT, value: agent }, { key: STATUS, value: status }, ...lists]);
  }

  /** Returns one entry for each tool: the list in the Temporal UI shows the tools, not the number of calls. */
  #waiting({ waitingForAttribute }: AgentSnapshot, names: string[]): Lists {
    const value = [...new Set(names)].toSorted();
    const shown = value.join('\n');
    if (!waitingForAttribute || shown === this.#waitingFor) return [];
    this.#waitingFor = shown;
    return [{ key: WAITING_FOR, value }];
  }
}

/**
 * True for a turn that has made one model call at most and no tool call. Most turns end with it: a session would spend an event on each
 * change to `running` and back, and lists show such changes late in any case.
 */
function isShort({ session, status, phase, context, toolCallsTotal }: RunState): boolean {
  if (session?.turn === undefined) return false;
  return status === 'running' && phase !== 'tools' && toolCallsTotal === 0 && context.currentStep <= session.turn.stepsBefore + 1;
}
