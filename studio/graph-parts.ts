import type { AgentDetails } from './api-types.ts';
import { span } from './format.ts';
import type { GraphEdge, GraphNode } from './layout.ts';
import type { RunRecord } from './record.ts';
import { TEXTS } from './texts.ts';

// What is drawn as a graph: programs, and agents with those that act in their runs. With a record, what has become of each part.

export interface GraphParts {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

interface Flow {
  kind?: string;
  agents?: string[];
}

/** An agent as far as a graph shows it. */
type AgentParts = Pick<AgentDetails, 'name' | 'handoffs' | 'agents' | 'tools' | 'flow'>;

/** What is known besides an agent: the others by their names, and the record of a run. */
interface AgentFacts {
  others?: ReadonlyMap<string, AgentParts>;
  record?: RunRecord;
}

/**
 * An agent or a flow, and the agents in its runs and their descendants, as far as they are known. With a record: the steps of each, and the
 * handoffs. An agent that has acted and that no other is known to have is there by the handoff to it.
 */
export function agentGraph(agent: AgentParts, { others = new Map(), record }: AgentFacts = {}): GraphParts {
  const acted = record === undefined ? { steps: new Map<string, number>(), handoffs: [] } : actedIn(record);
  const relations = new Map<string, string>([[agent.name, relationOf(agent)]]);
  const edges: GraphEdge[] = [];
  for (const name of relations.keys()) {
    const one = name === agent.name ? agent : others.get(name);
    if (one === undefined) continue;
    edges.push(...edgesOf(one));
    // A map that grows is walked to its end: each agent comes once, behind the one that names it first.
    for (const other of one.agents) if (!relations.has(other)) relations.set(other, relationTo(one, other));
  }
  for (const name of acted.steps.keys()) if (!relations.has(name)) relations.set(name, TEXTS.handoffNode);
  return {
    nodes: [...relations].map(([name, relation]) => ({
      id: name,
      label: name,
      ...withSteps(relation, acted.steps.get(name), name === agent.name ? 'active' : 'calm'),
    })),
    edges: withoutRepetitions([...edges, ...acted.handoffs]),
  };
}

function relationOf({ flow }: AgentParts): string {
  const { kind }: Flow = flow ?? {};
  return kind === undefined ? TEXTS.agent : TEXTS.flow(kind);
}

/** Says what an agent does for the one that names it. */
function relationTo({ handoffs, tools }: AgentParts, other: string): string {
  if (handoffs.includes(other)) return TEXTS.handoffNode;
  return tools.some(({ agent }) => agent === other) ? TEXTS.toolNode : TEXTS.flowNode;
}

function edgesOf({ name, agents, flow }: AgentParts): GraphEdge[] {
  const { kind, agents: inFlow = [] }: Flow = flow ?? {};
  return [...agents.filter((one) => !inFlow.includes(one)).map((to) => ({ from: name, to })), ...edgesOfFlow(name, kind, inFlow)];
}

/** The most agents that the page reads about for one graph. */
const MOST = 40;

type Named = Pick<AgentDetails, 'name' | 'agents'>;

/** Returns the agents that an agent may lead to, by name, as far as `read` returns them. Each is read once. */
export async function readOthers<One extends Named>(
  agent: Named,
  read: (name: string) => Promise<One | undefined>,
): Promise<ReadonlyMap<string, One>> {
  const found = new Map<string, One>();
  const asked = new Set([agent.name]);
  for (let next = agent.agents; next.length > 0;) {
    const names = [...new Set(next)].filter((name) => !asked.has(name)).slice(0, MOST - asked.size);
    for (const name of names) asked.add(name);
    const answers = (await Promise.all(names.map(read))).filter((one) => one !== undefined);
    for (const one of answers) found.set(one.name, one);
    next = answers.flatMap(({ agents }) => agents);
  }
  return found;
}

/** True for an agent whose runs are more than its own steps. */
export function hasOthers({ handoffs, flow }: AgentDetails): boolean {
  return handoffs.length > 0 || flow !== undefined;
}

/** The agents of a parallel flow begin together, in other flows they run in sequence; in a loop, the first follows the last. */
function edgesOfFlow(name: string, kind: string | undefined, agents: readonly string[]): GraphEdge[] {
  if (kind === 'parallel') return agents.map((to) => ({ from: name, to }));
  const inOrder = agents.map((to, index) => ({ from: agents[index - 1] ?? name, to }));
  const [first, last] = [agents[0], agents.at(-1)];
  return kind === 'loop' && first !== undefined && last !== undefined && first !== last ? [...inOrder, { from: last, to: first }] : inOrder;
}

function withoutRepetitions(edges: readonly GraphEdge[]): GraphEdge[] {
  return [...new Map(edges.map((edge) => [JSON.stringify([edge.from, edge.to]), edge])).values()];
}

function withSteps(detail: string, steps: number | undefined, tone: string): Pick<GraphNode, 'detail' | 'tone'> {
  return steps === undefined ? { detail, tone } : { detail: `${detail} · ${TEXTS.stepCount(steps)}`, tone: 'good' };
}

/** Returns the steps of each agent that has acted in a run, and the handoffs between them. */
function actedIn({ rows }: RunRecord): { steps: Map<string, number>; handoffs: GraphEdge[] } {
  const steps = new Map<string, number>();
  const handoffs: GraphEdge[] = [];
  for (const row of rows) {
    if (row.kind !== 'answer' || row.event.caller === 'code') continue;
    const { author } = row.event;
    steps.set(author, (steps.get(author) ?? 0) + 1);
    if (row.handedFrom !== undefined) handoffs.push({ from: row.handedFrom, to: author });
  }
  return { steps, handoffs };
}

interface ProgramUnit {
  name: string;
  needs?: string[];
  steps: { name: string }[];
}

/** A program: its units by what they need, and the steps of each in order. With a record, what has become of them. */
export function programGraph(document: object, record?: RunRecord): GraphParts {
  const { units = [] } = document as { units?: ProgramUnit[] };
  const ends = record === undefined ? new Map<string, Outcome>() : outcomes(record);
  const hasNeeds = units.some(({ needs }) => needs !== undefined);
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  for (const [index, { name, needs = [], steps }] of units.entries()) {
    nodes.push({ id: name, label: name, ...shownAs(ends.get(name), TEXTS.unit) });
    for (const need of hasNeeds ? needs : units.slice(index - 1, index).map((one) => one.name)) {
      const last = units.find((one) => one.name === need)?.steps.at(-1);
      edges.push({ from: last === undefined ? need : `${need}.${last.name}`, to: name });
    }
    let before = name;
    for (const step of steps) {
      const id = `${name}.${step.name}`;
      const kind = Object.keys(step).find((key) => KINDS.has(key)) ?? '';
      nodes.push({ id, label: step.name, ...shownAs(ends.get(id), kind) });
      edges.push({ from: before, to: id });
      before = id;
    }
  }
  return { nodes, edges };
}

const KINDS = new Set('ask tool agent program human sleep remember recall parallel branch forEach repeat'.split(' '));

interface Outcome {
  status: string;
  attempts: number;
  /** The anchors that answers have breached, each with its attempt. */
  breaches: ReadonlySet<string>;
  ms: number | undefined;
}

const TONES: Readonly<Record<string, string>> = { completed: 'good', failed: 'bad', skipped: 'calm', running: 'active' };

function shownAs(outcome: Outcome | undefined, kind: string): Pick<GraphNode, 'detail' | 'tone'> {
  if (outcome === undefined) return { detail: kind, tone: 'calm' };
  const { status, attempts, breaches, ms } = outcome;
  const isPlain = status === 'completed' || ms === undefined;
  const parts = [
    kind,
    isPlain ? '' : status,
    ms === undefined ? status : span(ms),
    attempts > 1 ? TEXTS.attempts(attempts) : '',
    breaches.size > 0 ? TEXTS.breaches(breaches.size) : '',
  ];
  return { detail: parts.filter((part) => part !== '').join(' · '), tone: TONES[status] ?? 'warn' };
}

interface StepNote {
  at: string;
  type: string;
  attempt?: number;
  status?: string;
  startedAt?: string;
  verdict?: { anchors?: { breaches?: { anchor: string }[] } };
}

/** Returns what the record says of each unit and step. */
function outcomes(record: RunRecord): Map<string, Outcome> {
  const found = new Map<string, Outcome>();
  for (const { event } of record.rows) {
    const { step } = event as { step?: object };
    if (step === undefined) continue;
    const { at, type, attempt = 1, status = 'completed', startedAt, verdict } = step as StepNote;
    const before = found.get(at) ?? { status: 'running', attempts: 1, breaches: new Set<string>(), ms: undefined };
    const ms = startedAt === undefined ? undefined : Date.parse(event.timestamp) - Date.parse(startedAt);
    found.set(at, {
      status: type === 'end' ? status : 'running',
      attempts: Math.max(before.attempts, attempt),
      // The attempt and its step may both have the verdict.
      breaches: new Set([...before.breaches, ...(verdict?.anchors?.breaches ?? []).map(({ anchor }) => `${attempt} ${anchor}`)]),
      ms: type === 'end' ? ms : before.ms,
    });
  }
  return found;
}
