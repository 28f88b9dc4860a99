import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

/** A node of the syntax tree of a file of types. */
export interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  [property: string]: unknown;
}

/** A declaration of a file of types, with all its overloads. */
export interface Declaration {
  /** The name in its file: an entry may export it by another one. */
  name: string;
  /** Relative to the root, such as `dist/src/index.d.ts`. */
  file: string;
  nodes: SyntaxNode[];
}

/** An entry of the package with everything that it exports, by name. */
export interface Entry {
  /** As users import it: `longhaul/client`. */
  name: string;
  file: string;
  exports: Map<string, Declaration>;
}

/** Where a file has a name from. */
interface Origin {
  file: string;
  name: string;
}

interface TypesFile {
  text: string;
  body: SyntaxNode[];
  declared: Map<string, SyntaxNode[]>;
  imported: Map<string, Origin>;
  exported: Map<string, Origin>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = new Map<string, TypesFile>();

/** Returns the entries of the package as `package.json` lists them. The package must be built. */
export function packageEntries(): Entry[] {
  const { name, exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
    name: string;
    exports: Record<string, string | { types: string }>;
  };
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return [];
    const file = posix.normalize(target.types);
    const exported = [...typesFile(file).exported].map(([as, origin]) => [as, declarationOf(origin, file)] as const);
    return [{ name: posix.join(name, path), file, exports: new Map(exported.toSorted(([a], [b]) => (a < b ? -1 : 1))) }];
  });
}

/** Returns what a name means in a file, if the package declares it. */
export function declarationIn(file: string, name: string): Declaration | undefined {
  const { declared, imported, exported } = typesFile(file);
  const nodes = declared.get(name);
  if (nodes !== undefined) return { name, file, nodes };
  const origin = imported.get(name) ?? exported.get(name);
  return origin === undefined || (origin.file === file && origin.name === name) ? undefined : declarationIn(origin.file, origin.name);
}

const constants = new Map<string, { text: string; comment: string | undefined }[]>();

/** Returns the members of the object types of all constants that the files of a folder declare. */
export function membersOfConstants(folder: string): { text: string; comment: string | undefined }[] {
  const known = constants.get(folder);
  if (known !== undefined) return known;
  const found = globSync(`dist/${folder}/*.d.ts`, { cwd: root }).flatMap((file) => {
    const members: { text: string; comment: string | undefined }[] = [];
    for (const node of [...typesFile(file).declared.values()].flat()) {
      if (node.type !== 'VariableDeclaration') continue;
      walk(node, (one) => {
        if (one.type === 'TSPropertySignature') members.push({ text: textOf(file, one), comment: commentBefore(file, one) });
      });
    }
    return members;
  });
  constants.set(folder, found);
  return found;
}

/** Returns the text of a node. */
export function textOf(file: string, { start, end }: SyntaxNode): string {
  return typesFile(file).text.slice(start, end);
}

/** Returns the doc comment that is directly in front of a node, without its frame. */
export function commentBefore(file: string, { start }: SyntaxNode): string | undefined {
  const before = typesFile(file).text.slice(0, start);
  const match = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*(?:export\s+)?(?:declare\s+)?$/.exec(before);
  return match?.[1]?.replaceAll(/^\s*\*\s?/gm, '').trim();
}

/** Calls `take` for a node and everything below it. */
export function walk(node: SyntaxNode, take: (node: SyntaxNode) => void): void {
  take(node);
  for (const value of Object.values(node)) for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) walk(one, take);
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

/** Returns the name of an identifier, of a key or of a string. */
export function nameOf(node: unknown): string {
  if (!isNode(node)) return '';
  if (node.type === 'MemberExpression' || node.type === 'TSQualifiedName') return nameOf(node['property'] ?? node['right']);
  const name = node['name'] ?? node['value'];
  return typeof name === 'string' ? name : '';
}

function declarationOf(origin: Origin, from: string): Declaration {
  const declaration = declarationIn(origin.file, origin.name);
  if (declaration === undefined) throw new Error(`"${from}" exports "${origin.name}", which "${origin.file}" does not declare`);
  return declaration;
}

function typesFile(path: string): TypesFile {
  const known = files.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(`${root}/${path}`, 'utf8');
  const { body } = parseAst(text, { lang: 'ts' }) as unknown as { body: SyntaxNode[] };
  const file: TypesFile = { text, body, declared: new Map(), imported: new Map(), exported: new Map() };
  files.set(path, file);
  for (const node of body) takeStatement(file, path, node);
  return file;
}

function takeStatement(file: TypesFile, path: string, node: SyntaxNode): void {
  const source = isNode(node['source']) ? fileOf(path, nameOf(node['source'])) : undefined;
  if (node.type === 'ImportDeclaration' && source !== undefined) {
    for (const one of list(node['specifiers'])) file.imported.set(nameOf(one['local']), { file: source, name: nameOf(one['imported']) });
  } else if (node.type === 'ExportNamedDeclaration') {
    for (const one of list(node['specifiers'])) {
      file.exported.set(nameOf(one['exported']), { file: source ?? path, name: nameOf(one['local']) });
    }
    if (isNode(node['declaration'])) for (const name of declare(file, node['declaration'])) file.exported.set(name, { file: path, name });
  } else {
    declare(file, node);
  }
}

/** Records a declaration, and returns its names. */
function declare(file: TypesFile, node: SyntaxNode): string[] {
  const named = node.type === 'VariableDeclaration' ? list(node['declarations']) : [node];
  const names = named.map((one) => nameOf(one['id'])).filter((name) => name !== '');
  for (const name of names) file.declared.set(name, [...(file.declared.get(name) ?? []), node]);
  return names;
}

function list(value: unknown): SyntaxNode[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Returns the file of types of a relative import. Undefined for imports of packages. */
function fileOf(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(from), specifier).replace(/\.[tj]s$/, '.d.ts');
}
