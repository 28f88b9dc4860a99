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
  edges: { key: string; points: Point[] }[];
}

interface Point {
  x: number;
  y: number;
}

const NODE = { width: 210, height: 46 };

/** The gap between two nodes of a column, and the room for an edge that leads back within one. */
const GAP = 34;
const ROUND = 20;

/**
 * Returns the places of nodes and edges, from the top to the bottom. Nodes that only follow each other are one column, which is placed as a
 * whole: that takes a fraction of the time, and keeps the column straight.
 */
export function placed(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Placed {
  const columns = columnsOf(nodes, edges);
  const columnOf = new Map(columns.flatMap((column) => column.map((id) => [id, column] as const)));
  const keyOf = (id: string): string => columnOf.get(id)?.[0] ?? id;
  const within = edges.filter(({ from, to }) => keyOf(from) === keyOf(to));
  const between = edges.filter(({ from, to }) => keyOf(from) !== keyOf(to));
  const hasWayBack = new Set(within.filter((edge) => !isNext(columnOf, edge)).map(({ from }) => keyOf(from)));
  const graph = new Dagre();
  graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: GAP, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const column of columns) {
    const [key = ''] = column;
    const width = NODE.width + (hasWayBack.has(key) ? 2 * ROUND : 0);
    graph.setNode(key, { width, height: column.length * (NODE.height + GAP) - GAP });
  }
  for (const { from, to } of between) graph.setEdge(keyOf(from), keyOf(to));
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const places = new Map(columns.flatMap((column) => placesOf(column, graph.node(column[0] ?? '') as Box)));
  const placeOf = (id: string): Point => places.get(id) ?? { x: 0, y: 0 };
  const pointsOf = (edge: GraphEdge): Point[] => {
    const [from, to] = [placeOf(edge.from), placeOf(edge.to)];
    if (keyOf(edge.from) !== keyOf(edge.to)) {
      const { points } = graph.edge(keyOf(edge.from), keyOf(edge.to)) as { points: Point[] };
      // Of a column, its borders are those of its last and its first node, wherever the line would cross its sides.
      return straight(from, to, points.slice(1, -1));
    }
    return isNext(columnOf, edge) ? straight(from, to) : around(from, to);
  };
  return {
    width,
    height,
    nodes: nodes.map((node) => ({ node, ...placeOf(node.id) })),
    edges: [...between, ...within].map((edge) => ({ key: `${edge.from} ${edge.to}`, points: pointsOf(edge) })),
  };
}

/** Returns the nodes in columns: in each, every node is the only one behind the one before, and has nothing else before it. */
function columnsOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): string[][] {
  const after = Map.groupBy(edges, ({ from }) => from);
  const before = Map.groupBy(edges, ({ to }) => to);
  const nextOf = (id: string): string | undefined => {
    const [edge, ...more] = after.get(id) ?? [];
    return edge !== undefined && more.length === 0 && before.get(edge.to)?.length === 1 && edge.to !== id ? edge.to : undefined;
  };
  const follows = new Set(nodes.flatMap(({ id }) => nextOf(id) ?? []));
  const taken = new Set<string>();
  const columnFrom = (first: string): string[] => {
    const column: string[] = [];
    for (let id: string | undefined = first; id !== undefined && !taken.has(id); id = nextOf(id)) {
      taken.add(id);
      column.push(id);
    }
    return column;
  };
  const beginnings = nodes.filter(({ id }) => !follows.has(id)).map(({ id }) => columnFrom(id));
  // What is left are rings, which begin nowhere.
  const rings = nodes.map(({ id }) => columnFrom(id)).filter((column) => column.length > 0);
  return [...beginnings, ...rings];
}

/** True for an edge to the node right below in a column. */
function isNext(columnOf: ReadonlyMap<string, string[]>, { from, to }: GraphEdge): boolean {
  const column = columnOf.get(from) ?? [];
  return column.indexOf(to) === column.indexOf(from) + 1;
}

interface Box extends Point {
  height: number;
}

function placesOf(column: readonly string[], { x, y, height }: Box): [string, Point][] {
  const top = y - height / 2 + NODE.height / 2;
  return column.map((id, index) => [id, { x, y: top + index * (NODE.height + GAP) }]);
}

/** The end of an edge that leads straight down, so that its arrow stands on the node. */
const ARROW = 12;

/** From below a node to above another one, by the points in between. */
function straight(from: Point, to: Point, by: readonly Point[] = []): Point[] {
  const end = { x: to.x, y: to.y - NODE.height / 2 };
  return [{ x: from.x, y: from.y + NODE.height / 2 }, ...by, ...(by.length === 0 ? [] : [{ x: end.x, y: end.y - ARROW }]), end];
}

/** The way back to a node above, past those in between. */
function around(from: Point, to: Point): Point[] {
  const edge = from.x + NODE.width / 2;
  return [
    { x: edge, y: from.y },
    { x: edge + ROUND, y: from.y },
    { x: edge + ROUND, y: to.y },
    { x: edge, y: to.y },
  ];
}
