import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AgentDetails } from './api-types.ts';
import { span } from './format.ts';
import type { GraphEdge, GraphNode, Placed } from './layout.ts';
import { loadLazily } from './lazy.ts';
import { beginning, codeName, pieces } from './marks.ts';
import type { RunRecord } from './record.ts';
import { TEXTS } from './texts.ts';

export interface GraphParts {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** Returns a text for a drawing, which has no markup for marks. */
function drawn(text: string): string {
  return pieces(beginning(text, 22), { oneLine: true })
    .map((piece) => (typeof piece === 'string' ? piece : `⟨${codeName(piece.code)}⟩`))
    .join('')
    .concat(text.length > 22 ? '…' : '');
}

/** Draws a graph. The code that finds the places is loaded with the first one. */
export function Graph({ nodes, edges, label }: GraphParts & { label: string }): JSX.Element {
  const [found, setFound] = useState<Placed>();
  const key = JSON.stringify([nodes, edges]);
  useEffect(() => {
    let isGone = false;
    const place = async (): Promise<void> => {
      const layout = await loadLazily(
        () => import('./layout.ts'),
        () => isGone,
      );
      if (!isGone && layout !== undefined) setFound(layout.placed(nodes, edges));
    };
    void place();
    return () => {
      isGone = true;
    };
  }, [key]);
  if (found === undefined) return <p class="dim">{TEXTS.loading}</p>;
  const { width, height } = found;
  return (
    <div class="wide" role="region" aria-label={label} tabIndex={0}>
      <svg class="graph" width={width} height={height} role="img" aria-label={`${label}: ${TEXTS.graphOf(nodes.length)}`}>
        {found.edges.map((edge) => (
          <path key={edge.key} d={`M${edge.points.map(({ x, y }) => `${x},${y}`).join('L')}`} />
        ))}
        {found.nodes.map(({ node, x, y }) => (
          <g key={node.id} class={node.tone} transform={`translate(${x - 85} ${y - 23})`}>
            <rect width={170} height={46} rx={6} />
            <text x={85} y={19}>
              {drawn(node.label)}
            </text>
            <text x={85} y={36} class="detail">
              {drawn(node.detail)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

/** An agent with those that act in its runs or below them. */
export function agentGraph({ name, handoffs, agents, tools }: AgentDetails): GraphParts {
  const asTools = new Set(tools.flatMap(({ agent }) => (agent === undefined ? [] : [agent])));
  const detailOf = (one: string): string =>
    handoffs.includes(one) ? TEXTS.handoffNode : asTools.has(one) ? TEXTS.toolNode : TEXTS.flowNode;
  return {
    nodes: [
      { id: name, label: name, detail: TEXTS.agent, tone: 'active' },
      ...agents.map((one) => ({ id: one, label: one, detail: detailOf(one), tone: 'calm' })),
    ],
    edges: agents.map((one) => ({ from: name, to: one })),
  };
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
  ms: number | undefined;
}

const TONES: Readonly<Record<string, string>> = { completed: 'good', failed: 'bad', skipped: 'calm', running: 'active' };

function shownAs(outcome: Outcome | undefined, kind: string): Pick<GraphNode, 'detail' | 'tone'> {
  if (outcome === undefined) return { detail: kind, tone: 'calm' };
  const { status, attempts, ms } = outcome;
  const parts = [kind, ms === undefined ? status : span(ms), attempts > 1 ? TEXTS.attempts(attempts) : ''];
  return { detail: parts.filter((part) => part !== '').join(' · '), tone: TONES[status] ?? 'warn' };
}

interface StepNote {
  at: string;
  type: string;
  attempt?: number;
  status?: string;
  startedAt?: string;
}

/** Returns what the record says of each unit and step. */
function outcomes(record: RunRecord): Map<string, Outcome> {
  const found = new Map<string, Outcome>();
  for (const { event } of record.rows) {
    const { step } = event as { step?: object };
    if (step === undefined) continue;
    const { at, type, attempt = 1, status = 'completed', startedAt } = step as StepNote;
    const before = found.get(at) ?? { status: 'running', attempts: 1, ms: undefined };
    const ms = startedAt === undefined ? undefined : Date.parse(event.timestamp) - Date.parse(startedAt);
    found.set(at, {
      status: type === 'end' ? status : 'running',
      attempts: Math.max(before.attempts, attempt),
      ms: type === 'end' ? ms : before.ms,
    });
  }
  return found;
}
