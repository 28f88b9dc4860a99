import {
  type Declaration,
  declarationIn,
  type Entry,
  isNode,
  nameOf,
  packageEntries,
  type SyntaxNode,
  textOf,
  walk,
} from './declarations.ts';

/** The report of the API, as a user of the package sees it: relative to the root. */
export const REPORT = 'api/longhaul.api.md';

/** The report of the last release, which the present one is compared with. */
export const RELEASED = 'api/released.api.md';

const HEADER = `# Everything that the package exports

Written by \`npm run docs\` from the types of the build. A change of this file is a change of the API: what is removed or narrowed needs a
line in CHANGELOG.md that names it.
`;

/** Returns the report of all entries: each export once, where it is first exported, and the types that signatures use besides. */
export function apiReport(entries: readonly Entry[] = packageEntries()): string {
  const owners = new Map<SyntaxNode, string>();
  const sections = entries.map(({ name, exports }) => {
    const blocks = [...exports].map(([as, declaration]) => {
      const key = declaration.nodes[0]!;
      const owner = owners.get(key);
      if (owner !== undefined) return `### ${name}: ${as}\n\nThe same as \`${owner}\`.`;
      owners.set(key, `${name}: ${as}`);
      return block(`${name}: ${as}`, declaration);
    });
    return `## ${name}\n\n${blocks.join('\n\n')}`;
  });
  const hidden = hiddenTypes(entries, owners);
  return `${[HEADER, ...sections, `## Not exported\n\n${hidden.map((one) => block(one.name, one)).join('\n\n')}`].join('\n')}\n`;
}

/** The lines of each block of a report, by its heading. */
export function blocksOf(report: string): Map<string, string[]> {
  return new Map([...blocksByHeading(report)].map(([heading, blocks]) => [heading, blocks.at(-1)!]));
}

/** The blocks of a report by their heading. Types that are not exported may share a name, and then a heading. */
function blocksByHeading(report: string): Map<string, string[][]> {
  const blocks = new Map<string, string[][]>();
  for (const part of report.split(/^### /m).slice(1)) {
    const [heading = '', ...lines] = part.split(/^## /m)[0]!.trimEnd().split('\n');
    const kept = lines.filter((line) => line.trim() !== '' && !line.startsWith('```'));
    blocks.set(heading, [...(blocks.get(heading) ?? []), kept]);
  }
  return blocks;
}

/**
 * Returns the headings of exports that users of the previous report can no longer rely on: the export is gone, one of its lines is gone or
 * has changed, or it has a new required member. A new optional member, a new overload or a new export does not count, nor does a type that
 * was used and is now exported as well.
 */
export function narrowed(before: string, now: string): string[] {
  const present = blocksByHeading(now);
  return [...blocksByHeading(before)].flatMap(([heading, blocks]) => {
    const current = present.get(heading) ?? (heading.includes(': ') ? [] : nowExported(present, heading));
    return blocks.every((lines) => current.some((one) => !isLess(one, lines))) ? [] : [heading];
  });
}

/** True if a block lacks a line that it had, or has a new one that is required. */
function isLess(current: readonly string[], lines: readonly string[]): boolean {
  const left = new Set(current);
  const had = new Set(lines);
  return lines.some((line) => !left.has(line)) || current.some((line) => !had.has(line) && isRequired(line));
}

function nowExported(present: ReadonlyMap<string, string[][]>, name: string): string[][] {
  const headings = [...present.keys()].filter((one) => one.endsWith(`: ${name}`));
  return headings.flatMap((one) => present.get(one)!).filter(([line = '']) => !line.startsWith('The same as'));
}

/** A line of an interface that every value must have. Overloads and optional members do not count. */
function isRequired(line: string): boolean {
  return /^\s+(?:readonly )?[\w"'[\].]+(?::|<|\()/.test(line) && !/^\s+[\w"'[\].]+\?/.test(line) && !line.includes('(');
}

/** Returns what of the narrowed exports no line of the changes of the next release names in backticks. */
export function unannounced(headings: readonly string[], changelog: string): string[] {
  const [, next = ''] = /^## \[Unreleased\]\n([^]*?)(?=^## \[|(?![^]))/m.exec(changelog) ?? [];
  const named = new Set([...next.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(/\w+/g) ?? []));
  return headings.filter((heading) => !named.has(heading.split(': ').at(-1)!));
}

function block(heading: string, { file, nodes }: Declaration): string {
  return `### ${heading}\n\n\`\`\`ts\n${nodes.map((node) => plainText(file, node)).join('\n')}\n\`\`\``;
}

/** Returns a declaration without comments and private members, in lines as the compiler has written them. */
function plainText(file: string, node: SyntaxNode): string {
  return textOf(file, node)
    .replaceAll(/^\s*\/\*\*[^]*?\*\/\n?/gm, '')
    .replaceAll(/\/\*\*[^]*?\*\//g, '')
    .replaceAll(/^ +(?:#private|private [^;]*);\n/gm, '')
    .replaceAll(/import\("[^"]+"\)\./g, '')
    .replaceAll(/^ +$/gm, '')
    .replaceAll(/\n{2,}/g, '\n')
    .replace(/^(?:export )?(?:declare )?/, '')
    .trim();
}

/** Returns the types of the package that exported declarations refer to, and that no entry exports, with those that these refer to. */
function hiddenTypes(entries: readonly Entry[], owners: ReadonlyMap<SyntaxNode, string>): Declaration[] {
  const found = new Map<SyntaxNode, Declaration>();
  const queue = entries.flatMap(({ exports }) => [...exports.values()]);
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    for (const name of namesIn(one)) {
      const used = declarationIn(one.file, name);
      const [key] = used?.nodes ?? [];
      if (used === undefined || key === undefined || owners.has(key) || found.has(key)) continue;
      found.set(key, used);
      queue.push(used);
    }
  }
  return [...found.values()].toSorted((a, b) => compare(`${a.name} ${a.file}`, `${b.name} ${b.file}`));
}

/** Returns the names that a declaration refers to. */
function namesIn({ nodes }: Declaration): string[] {
  const names = new Set<string>();
  for (const node of nodes) {
    walk(node, (one) => {
      const reference = one['typeName'] ?? one['exprName'] ?? (one.type === 'TSInterfaceHeritage' ? one['expression'] : one['superClass']);
      if (isNode(reference)) names.add(nameOf(reference));
    });
  }
  return [...names];
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
