import { posix } from 'node:path';
import { parseAst } from 'vitest/node';

/** A product without one of its capabilities. */
interface Remainder {
  /** The texts of the files that are left, by path. */
  texts: Map<string, string>;
  /** The rooms of the capability: the files that were deleted. */
  rooms: string[];
  /** What names a room outside of a list, so that deleting is more than taking lines out of lists. */
  problems: string[];
}

/**
 * Deletes a capability: its rooms on some sides of the product (the files with its name in their path), and in all other files the imports
 * of them, with each entry of a list that uses an import. Reports every other use.
 */
export function withoutCapability(name: string, sides: readonly string[], given: ReadonlyMap<string, string>): Remainder {
  const word = new RegExp(name, 'i');
  const rooms = [...given.keys()].filter(
    (path) => sides.some((side) => path.startsWith(`${side}/`)) && path.split('/').some((part) => word.test(part)),
  );
  const problems: string[] = [];
  const texts = new Map<string, string>();
  for (const [path, text] of given) {
    if (!rooms.includes(path)) texts.set(path, withoutImportsOf(new Set(rooms), path, text, problems));
  }
  return { texts, rooms, problems };
}

interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  [property: string]: unknown;
}

function withoutImportsOf(rooms: ReadonlySet<string>, path: string, text: string, problems: string[]): string {
  const isOfRoom = ({ source }: SyntaxNode): boolean =>
    isNode(source) && typeof source['value'] === 'string' && rooms.has(posix.join(posix.dirname(path), source['value']));
  const program = parseAst(text, { lang: 'ts' }) as unknown as SyntaxNode;
  const statements = (program['body'] as SyntaxNode[]).filter(isOfRoom);
  if (statements.length === 0) return text;
  const names = new Set(
    statements.flatMap(({ specifiers = [] }) => (specifiers as SyntaxNode[]).map(({ local }) => (local as { name: string }).name)),
  );
  const cuts: [start: number, end: number][] = statements.map(({ start, end }) => [start, end]);
  for (const use of usesOf(names, program, statements)) {
    const entry = entryOf(use);
    if (entry === undefined) problems.push(`${path}: uses ${use.at(-1)?.['name'] as string} outside of a list`);
    else cuts.push(entry);
  }
  return withoutRanges(text, cuts);
}

/** Returns each use of a name, with the nodes and lists that it is in, from the outermost. */
function usesOf(names: ReadonlySet<string>, program: SyntaxNode, except: readonly SyntaxNode[]): SyntaxNode[][] {
  const uses: SyntaxNode[][] = [];
  const visit = (value: unknown, above: readonly SyntaxNode[]): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, above);
    else if (isNode(value) && !except.includes(value)) {
      if (value.type === 'Identifier' && names.has(value['name'] as string) && !isMemberName(value, above.at(-1)))
        uses.push([...above, value]);
      for (const child of Object.values(value)) visit(child, [...above, value]);
    }
  };
  visit(program, []);
  return uses;
}

/** True for the name of a member, which is not a use of a variable of that name. */
function isMemberName(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent?.type === 'MemberExpression') return parent['property'] === node && parent['computed'] !== true;
  return (parent?.type === 'Property' && parent['key'] === node && parent['shorthand'] !== true) || parent?.type === 'TSPropertySignature';
}

/** The lists that an entry can be removed from, with the member that has the entries. */
const LISTS: Readonly<Record<string, string>> = {
  ArrayExpression: 'elements',
  ObjectExpression: 'properties',
  TSInterfaceDeclaration: 'extends',
  TSInterfaceBody: 'body',
  TSTypeLiteral: 'members',
  TSUnionType: 'types',
  TSIntersectionType: 'types',
};

/** Returns the range of the innermost entry of a list that a use is in; undefined if it is in none. */
function entryOf(use: readonly SyntaxNode[]): [start: number, end: number] | undefined {
  for (let depth = use.length - 1; depth > 0; depth -= 1) {
    const [list, node] = [use[depth - 1], use[depth]];
    const entries = list === undefined ? undefined : list[LISTS[list.type] ?? ''];
    if (node !== undefined && Array.isArray(entries) && entries.length > 1 && entries.includes(node)) return [node.start, node.end];
    // The body of a function is not an entry of the list that the function is in.
    if (node !== undefined && /Function|Method/.test(node.type)) return undefined;
  }
  return undefined;
}

/** Returns a text without these ranges, and without the commas after them. */
function withoutRanges(text: string, ranges: readonly [start: number, end: number][]): string {
  let rest = text;
  const sorted = [...new Map(ranges.map((range) => [range[0], range])).values()].toSorted(([one], [other]) => other - one);
  for (const [start, end] of sorted) {
    const behind = rest.slice(end).replace(/^\s*[,;]/, '');
    const isLast = behind.length === rest.length - end;
    rest = (isLast ? rest.slice(0, start).replace(/,\s*$/, '') : rest.slice(0, start)) + behind;
  }
  return rest;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}
