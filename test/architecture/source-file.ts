import { parseAst } from 'vitest/node';

/** One import or re-export of a file. */
export interface Import {
  specifier: string;
  /** True if stripping types erases the import. `import { type A }` remains and still loads the module. */
  typeOnly: boolean;
  /** `import()`: loaded when it is executed, not with the file. */
  lazy: boolean;
}

/** The facts about one file that the rules look at. */
export interface SourceFile {
  /** Relative to the root of the tree, with slashes. */
  path: string;
  lines: number;
  imports: Import[];
  hasStarExport: boolean;
  /** The text of every `x as A as B`. */
  doubleCasts: string[];
}

/** Reads a TypeScript file with the parser of the test runner. Throws if the text is not TypeScript. */
export function parseSource(path: string, text: string): SourceFile {
  const file: SourceFile = {
    path,
    lines: countLines(text),
    imports: [],
    hasStarExport: false,
    doubleCasts: [],
  };
  visit(parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }), (node) => take(file, text, node));
  return file;
}

interface SyntaxNode {
  type: string;
  [property: string]: unknown;
}

function take(file: SourceFile, text: string, node: SyntaxNode): void {
  switch (node.type) {
    case 'ImportDeclaration':
      file.imports.push({ specifier: specifierOf(node), typeOnly: node['importKind'] === 'type', lazy: false });
      break;
    case 'ExportAllDeclaration':
      file.hasStarExport = true;
      file.imports.push({ specifier: specifierOf(node), typeOnly: node['exportKind'] === 'type', lazy: false });
      break;
    case 'ExportNamedDeclaration':
      if (isNode(node['source'])) {
        file.imports.push({ specifier: specifierOf(node), typeOnly: node['exportKind'] === 'type', lazy: false });
      }
      break;
    case 'ImportExpression':
      file.imports.push({ specifier: specifierOf(node), typeOnly: false, lazy: true });
      break;
    case 'TSImportType':
      file.imports.push({ specifier: specifierOf(node), typeOnly: true, lazy: false });
      break;
    case 'TSAsExpression':
      if (isNode(node['expression']) && node['expression'].type === 'TSAsExpression') {
        file.doubleCasts.push(text.slice(Number(node['start']), Number(node['end'])));
      }
      break;
  }
}

/** Returns the code without its comments. Throws if it is not JavaScript. */
export function withoutComments(code: string): string {
  const literals: SyntaxNode[] = [];
  visit(parseAst(code, { lang: 'js' }), (node) => {
    if (isText(node)) literals.push(node);
  });
  let end = 0;
  const kept = commentRanges(code, literals).map((range) => {
    const piece = code.slice(end, range.index);
    end = range.index + range[0].length;
    return piece;
  });
  return [...kept, code.slice(end)].join('');
}

/** Finds the comments of a text: the parser drops them, and only a literal can contain their marks without being one. */
function commentRanges(text: string, literals: readonly SyntaxNode[]): RegExpExecArray[] {
  const characters = text.split('');
  for (const literal of literals) characters.fill(' ', Number(literal['start']), Number(literal['end']));
  return [...characters.join('').matchAll(/\/\*(.*?)\*\/|\/\/([^\n]*)/gs)];
}

function isText({ type }: SyntaxNode): boolean {
  return type === 'Literal' || type === 'TemplateElement';
}

/** An import whose specifier is not a literal cannot be checked: it gets a name that no rule allows. */
function specifierOf(node: SyntaxNode): string {
  const { source } = node;
  return isNode(source) && typeof source['value'] === 'string' ? source['value'] : '(computed)';
}

function visit(value: unknown, found: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, found);
  } else if (isNode(value)) {
    found(value);
    for (const child of Object.values(value)) visit(child, found);
  }
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}
