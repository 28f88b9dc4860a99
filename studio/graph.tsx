import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { GraphParts } from './graph-parts.ts';
import type { Placed } from './layout.ts';
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
          <g key={node.id} class={node.tone} transform={`translate(${x - 105} ${y - 23})`}>
            <rect width={210} height={46} rx={6} />
            <text x={105} y={19}>
              {drawn(node.label, ROOM.name)}
            </text>
            <text x={105} y={36} class="detail">
              {drawn(node.detail, ROOM.detail)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
