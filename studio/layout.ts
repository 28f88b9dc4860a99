import { Graph as Dagre, layout } from '@dagrejs/dagre';

export interface GraphNode {
  id: string;
  label: string;
  /** A second line: the kind, the time, the attempts. */
  detail: string;
  tone: string;
}

export interface GraphEdge {
  from: string;
  to: string;
}

/** A graph with its places. */
export interface Placed {
  width: number;
  height: number;
  nodes: { node: GraphNode; x: number; y: number }[];
  edges: { key: string; points: { x: number; y: number }[] }[];
}

const NODE = { width: 210, height: 46 };

/** Returns the places of nodes and edges, from the top to the bottom. */
export function placed(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Placed {
  const graph = new Dagre();
  graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 34, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...NODE });
  for (const { from, to } of edges) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    nodes: nodes.map((node) => {
      const { x, y } = graph.node(node.id) as { x: number; y: number };
      return { node, x, y };
    }),
    edges: graph.edges().map((edge: { v: string; w: string }) => ({
      key: `${edge.v} ${edge.w}`,
      points: (graph.edge(edge) as { points: { x: number; y: number }[] }).points,
    })),
  };
}
