/** The parts of TypeDoc's JSON that pages are made from. */
export interface Reflection {
  id: number;
  name: string;
  kind: number;
  variant: string;
  flags: { isOptional?: boolean; isReadonly?: boolean };
  comment?: Comment;
  children?: Reflection[];
  signatures?: Reflection[];
  getSignature?: Reflection;
  parameters?: Reflection[];
  typeParameters?: Reflection[];
  sources?: { fileName: string; line: number }[];
  type?: Type;
  target?: number;
  indexSignatures?: Reflection[];
}

export interface Comment {
  summary: Text[];
  blockTags?: { tag: string; content: Text[] }[];
}

interface Text {
  kind: string;
  text: string;
}

export interface Type {
  type: string;
  [property: string]: unknown;
}

/** The kinds of reflections by number. */
export const KIND = {
  variable: 32,
  function: 64,
  class: 128,
  interface: 256,
  constructor: 512,
  property: 1024,
  method: 2048,
  accessor: 262_144,
  alias: 2_097_152,
  reference: 4_194_304,
};

/** Returns the text of a comment in Markdown. */
export function summaryOf({ comment, signatures, getSignature, type }: Reflection): string {
  const declared = (type?.['declaration'] as Reflection | undefined)?.signatures?.[0]?.comment;
  const found = comment ?? signatures?.find((one) => one.comment !== undefined)?.comment ?? getSignature?.comment ?? declared;
  return textOf(found?.summary);
}

export function examplesOf({ comment, signatures }: Reflection): string[] {
  const comments = [comment, ...(signatures ?? []).map((one) => one.comment)];
  return comments.flatMap((one) => (one?.blockTags ?? []).flatMap(({ tag, content }) => (tag === '@example' ? [textOf(content)] : [])));
}

function textOf(parts: readonly Text[] = []): string {
  return parts
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** Returns a type as TypeScript has it. The types of shapes are those of their values. */
export function typeText(type: Type | undefined): string {
  if (type === undefined) return 'unknown';
  const of = (name: string): string => typeText(type[name] as Type | undefined);
  const list = (name: string): string[] => ((type[name] ?? []) as Type[]).map(typeText);
  switch (type.type) {
    case 'intrinsic':
    case 'unknown':
      return String(type['name']);
    case 'literal':
      return type['value'] === null ? 'null' : typeof type['value'] === 'string' ? `'${type['value']}'` : JSON.stringify(type['value']);
    case 'reference': {
      const name = String(type['name']);
      const given = list('typeArguments');
      if ((name === 'Shape' || name === 's.Shape') && given.length === 1) return given[0]!;
      if ((name === 'ObjectOf' || name === 's.ObjectOf') && given.length === 1) return given[0]!;
      return given.length === 0 ? name : `${name}<${given.join(', ')}>`;
    }
    case 'array':
      return `${bracketed(type['elementType'] as Type)}[]`;
    case 'union':
      return list('types').join(' | ');
    case 'intersection':
      return list('types').join(' & ');
    case 'tuple':
      return `[${list('elements').join(', ')}]`;
    case 'namedTupleMember':
      return `${String(type['name'])}${type['isOptional'] === true ? '?' : ''}: ${of('element')}`;
    case 'optional':
      return `${of('elementType')}?`;
    case 'rest':
      return `...${of('elementType')}`;
    case 'typeOperator':
      return `${String(type['operator'])} ${bracketed(type['target'] as Type)}`;
    case 'query':
      return `typeof ${of('queryType')}`;
    case 'indexedAccess':
      return `${bracketed(type['objectType'] as Type)}[${of('indexType')}]`;
    case 'conditional':
      return `${of('checkType')} extends ${of('extendsType')} ? ${of('trueType')} : ${of('falseType')}`;
    case 'mapped':
      return `{ [${String(type['parameter'])} in ${of('parameterType')}]: ${of('templateType')} }`;
    case 'templateLiteral':
      return `\`${String(type['head'])}${((type['tail'] ?? []) as [Type, string][]).map(([one, text]) => `\${${typeText(one)}}${text}`).join('')}\``;
    case 'predicate':
      return `${String(type['name'])} is ${of('targetType')}`;
    case 'inferred':
      return `infer ${String(type['name'])}`;
    case 'reflection':
      return declarationText(type['declaration'] as Reflection);
    default:
      return 'unknown';
  }
}

function bracketed(type: Type): string {
  const text = typeText(type);
  return ['union', 'intersection', 'conditional'].includes(type.type) || / => /.test(text) ? `(${text})` : text;
}

function declarationText({ signatures = [], children = [], indexSignatures = [] }: Reflection): string {
  if (children.length === 0 && signatures.length === 1) return functionText(signatures[0]!, ' => ');
  // What marks an optional member of a shape.
  const [only] = children;
  if (children.length === 1 && only?.name === 'of' && only.flags.isReadonly === true) return typeText(only.type);
  const members = [
    ...signatures.map((one) => functionText(one, ': ')),
    ...children.map((one) =>
      one.signatures === undefined
        ? `${one.name}${one.flags.isOptional === true || isOptionalShape(one) ? '?' : ''}: ${typeText(one.type)}`
        : one.signatures.map((signature) => `${one.name}${functionText(signature, ': ')}`).join('; '),
    ),
    ...indexSignatures.map((one) => `[${(one.parameters ?? []).map(parameterText).join(', ')}]: ${typeText(one.type)}`),
  ];
  return members.length === 0 ? '{}' : `{ ${members.join('; ')} }`;
}

function isOptionalShape({ type }: Reflection): boolean {
  const declared = type?.['declaration'] as Reflection | undefined;
  return declared?.children?.length === 1 && declared.children[0]!.name === 'of';
}

/** Returns a function as a type, or as a method. */
export function functionText({ parameters = [], type, typeParameters = [] }: Reflection, arrow: string): string {
  const generics =
    typeParameters.length === 0
      ? ''
      : `<${typeParameters.map(({ name, type: bound }) => (bound === undefined ? name : `${name} extends ${typeText(bound)}`)).join(', ')}>`;
  return `${generics}(${parameters.map(parameterText).join(', ')})${arrow}${typeText(type)}`;
}

function parameterText({ name, flags, type }: Reflection): string {
  return `${name === '__namedParameters' ? 'options' : name}${flags.isOptional === true ? '?' : ''}: ${typeText(type)}`;
}
