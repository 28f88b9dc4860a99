import type { JSX } from 'preact';
import { useId, useLayoutEffect, useState } from 'preact/hooks';
import type { GraphParts } from './graph-parts.ts';
import type * as layoutModule from './layout.ts';
import type { GraphNode, Placed } from './layout.ts';
import { loadLazily } from './lazy.ts';
import { beginning, codeName, pieces } from './marks.ts';
import { TEXTS } from './texts.ts';

/** Characters that have room in a node: of its name, and of the smaller line below. */
const ROOM = { name: 26, detail: 38 };

/** Returns a text for a drawing, which has no markup for marks. */
function drawn(text: string, room: number): string {
  return pieces(beginning(text, room), { oneLine: true })
    .map((piece) => (typeof piece === 'string' ? piece : `⟨${codeName(piece.code)}⟩`))
    .join('')
    .concat(text.length > room ? '…' : '');
}

/** Loads the code that finds the places, which comes with the first graph. A page that will draw one begins before it knows what. */
export async function loadLayout(): Promise<typeof layoutModule> {
  return import('./layout.ts');
}

/** Draws a graph. What its nodes say may change without another place for them. */
export function Graph({ nodes, edges, label }: GraphParts & { label: string }): JSX.Element {
  const [found, setFound] = useState<Placed>();
  const arrow = useId();
  const key = JSON.stringify([nodes.map(({ id }) => id), edges]);
  useLayoutEffect(() => {
    let isGone = false;
    const place = async (): Promise<void> => {
      const layout = await loadLazily(loadLayout, () => isGone);
      if (!isGone && layout !== undefined) setFound(layout.placed(nodes, edges));
    };
    void place();
    return () => {
      isGone = true;
    };
  }, [key]);
  if (found === undefined) return <p class="dim">{TEXTS.loading}</p>;
  const { width, height } = found;
  const newest = new Map(nodes.map((node) => [node.id, node]));
  return (
    <div class="wide" role="region" aria-label={label} tabIndex={0}>
      <svg class="graph" width={width} height={height} role="img" aria-label={`${label}: ${TEXTS.graphOf(nodes.length)}`}>
        <defs>
          <marker id={arrow} viewBox="0 0 8 8" refX={8} refY={4} markerWidth={8} markerHeight={8} orient="auto">
            <polygon points="0,0 8,4 0,8" />
          </marker>
        </defs>
        {found.edges.map((edge) => (
          <path key={edge.key} d={`M${edge.points.map(({ x, y }) => `${x},${y}`).join('L')}`} marker-end={`url(#${arrow})`} />
        ))}
        {found.nodes.map(({ node: { id }, x, y }) => (
          <Node key={id} node={newest.get(id)} x={x} y={y} />
        ))}
      </svg>
    </div>
  );
}

/** A node at its place; nothing for one that has gone, whose graph is placed anew. */
function Node({ node, x, y }: { node: GraphNode | undefined; x: number; y: number }): JSX.Element | null {
  if (node === undefined) return null;
  return (
    <g class={node.tone} transform={`translate(${x - 105} ${y - 23})`}>
      <rect width={210} height={46} rx={6} />
      <text x={105} y={19}>
        {drawn(node.label, ROOM.name)}
      </text>
      <text x={105} y={36} class="detail">
        {drawn(node.detail, ROOM.detail)}
      </text>
    </g>
  );
}
