import { expect, test } from 'vitest';
import { type GraphEdge, type GraphNode, type Placed, placed } from '../../studio/layout.ts';

const nodesOf = (...ids: string[]): GraphNode[] => ids.map((id) => ({ id, label: id, detail: '', tone: 'calm' }));
const edgesOf = (...pairs: string[]): GraphEdge[] =>
  pairs.map((pair) => ({ from: pair.split('>')[0] ?? '', to: pair.split('>')[1] ?? '' }));

const HALF = { width: 105, height: 23 };

/** Returns the problems of a drawing: boxes that overlap or are not inside, and edges that do not end at their nodes. */
function problemsOf({ nodes, edges, width, height }: Placed): string[] {
  const outside = nodes.filter(({ x, y }) => x < HALF.width || x > width - HALF.width || y < HALF.height || y > height - HALF.height);
  const overlapping = nodes.flatMap((one, index) =>
    nodes
      .slice(index + 1)
      .filter((other) => Math.abs(one.x - other.x) < 2 * HALF.width && Math.abs(one.y - other.y) < 2 * HALF.height)
      .map((other) => `${one.node.id} overlaps ${other.node.id}`),
  );
  const touches = (id: string, point: { x: number; y: number } | undefined): boolean => {
    const node = nodes.find((one) => one.node.id === id);
    if (node === undefined || point === undefined) return false;
    return Math.abs(node.x - point.x) <= HALF.width + 1 && Math.abs(node.y - point.y) <= HALF.height + 1;
  };
  const loose = edges.filter(({ key, points }) => {
    const [from = '', to = ''] = key.split(' ');
    return !touches(from, points[0]) || !touches(to, points.at(-1));
  });
  return [...outside.map(({ node }) => `${node.id} is outside`), ...overlapping, ...loose.map(({ key }) => `${key} is loose`)];
}

const keysOf = (edges: readonly GraphEdge[]): string[] => edges.map(({ from, to }) => `${from} ${to}`).toSorted();

test.each([
  ['steps that follow each other', nodesOf('a', 'b', 'c'), edgesOf('a>b', 'b>c')],
  ['branches that come together', nodesOf('a', 'b', 'c', 'd', 'e'), edgesOf('a>b', 'a>c', 'b>d', 'c>d', 'd>e')],
  ['a flow that begins again', nodesOf('flow', 'a', 'b', 'c'), edgesOf('flow>a', 'a>b', 'b>c', 'c>a')],
  ['a ring', nodesOf('a', 'b'), edgesOf('a>b', 'b>a')],
  ['agents that hand over to each other', nodesOf('desk', 'a', 'b'), edgesOf('desk>a', 'desk>b', 'a>desk', 'a>b')],
  ['nodes without an edge', nodesOf('a', 'b'), []],
  ['nothing', [], []],
])('%s have places', (_, nodes, edges) => {
  const drawing = placed(nodes, edges);
  expect(problemsOf(drawing)).toEqual([]);
  expect(drawing.edges.map(({ key }) => key).toSorted()).toEqual(keysOf(edges));
});

test('what only follows each other is straight, in its order', () => {
  const { nodes } = placed(nodesOf('a', 'b', 'c', 'd'), edgesOf('a>b', 'b>c', 'c>d'));
  expect(new Set(nodes.map(({ x }) => x)).size).toBe(1);
  expect(nodes.map(({ y }) => y)).toEqual(nodes.map(({ y }) => y).toSorted((one, other) => one - other));
});

test('a program of 40 units with 4 steps each has places', () => {
  const units = Array.from({ length: 40 }, (_, index) => index);
  const ids = units.flatMap((unit) => [`u${unit}`, ...[1, 2, 3, 4].map((step) => `u${unit}.${step}`)]);
  const chains = units.flatMap((unit) => [`u${unit}>u${unit}.1`, ...[1, 2, 3].map((step) => `u${unit}.${step}>u${unit}.${step + 1}`)]);
  const needs = units.flatMap((unit) => [unit - 1, unit - 3].filter((one) => one >= 0).map((one) => `u${one}.4>u${unit}`));
  const edges = edgesOf(...chains, ...needs);
  const drawing = placed(nodesOf(...ids), edges);
  expect(problemsOf(drawing)).toEqual([]);
  expect(drawing.edges.map(({ key }) => key).toSorted()).toEqual(keysOf(edges));
});

test('an edge between rows ends straight above its node, so that its arrow stands on the node', () => {
  const { edges } = placed(nodesOf('a', 'b', 'c', 'd'), edgesOf('a>b', 'a>c', 'b>d', 'c>d'));
  for (const { points } of edges) expect(points.at(-2)?.x).toBe(points.at(-1)?.x);
});
