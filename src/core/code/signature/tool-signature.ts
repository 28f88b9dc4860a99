import type { ToolSnapshot } from '../../domain/agent/agent-snapshot.ts';
import type { CodeLanguage } from '../../domain/code/code-snapshot.ts';
import { isParameterName } from '../language-names.ts';
import { argumentsType, parameterNames } from './parameters.ts';
import { ANY, type Field, type SchemaType, schemaType } from './schema-type.ts';
import { NOTATIONS } from './type-text.ts';

/** The part of a tool that its signature depends on. */
export type SignedTool = Pick<ToolSnapshot, 'name' | 'schema' | 'answer' | 'result'>;

/** Characters that a signature may have. */
const MAX_SIGNATURE = 1_200;

/** Characters of the names of parameters in a hint. */
const MAX_NAMES = 300;

/** The precisions in which a signature is tried, until it is short enough. */
const PRECISIONS: readonly Precision[] = [
  { depth: 8, literals: 60 },
  { depth: 4, literals: 30 },
  { depth: 3, literals: 15 },
  { depth: 2, literals: 10 },
  { depth: 1, literals: 5 },
];

interface Precision {
  /** Levels of objects and lists that are written. */
  depth: number;
  /** Values of a literal type that are written. */
  literals: number;
}

/** A signature of a tool. */
export interface Signature {
  text: string;
  /** The names of its parameters, if the signature is too long to show them. */
  hint?: string;
}

/**
 * Returns a tool as a function in its language: `orders(args: {id: number; note?: string}): any`, or in Python
 * `def orders(id: float, note: str | None = None) -> Any`. One that would be too long names its parameters in a hint.
 */
export function toolSignature(tool: SignedTool, language: CodeLanguage): Signature {
  for (const precision of PRECISIONS) {
    const text = language === 'python' ? pythonSignature(tool, precision) : scriptSignature(tool, precision);
    if (text.length <= MAX_SIGNATURE) return { text };
  }
  const text = language === 'python' ? `def ${tool.name}(**arguments) -> Any` : `${tool.name}(args: object): any`;
  return { text, hint: hintOf(tool) };
}

function scriptSignature(tool: SignedTool, precision: Precision): string {
  const type = argumentsType(tool, precision.depth);
  const result = typeText(resultType(tool, precision), 'javascript', precision);
  if (type.kind === 'object' && type.fields.length === 0 && type.rest === undefined) return `${tool.name}(): ${result}`;
  const isOptional = type.kind === 'object' && type.fields.every(({ optional }) => optional);
  return `${tool.name}(args${isOptional ? '?' : ''}: ${typeText(type, 'javascript', precision)}): ${result}`;
}

function pythonSignature(tool: SignedTool, precision: Precision): string {
  const type = argumentsType(tool, precision.depth);
  const result = typeText(resultType(tool, precision), 'python', precision);
  const parameters = pythonParameters(type, precision) ?? [`arguments: ${typeText(type, 'python', precision)}`];
  return `def ${tool.name}(${parameters.join(', ')}) -> ${result}`;
}

/** Returns the parameters; undefined if Python cannot spell them, so that one dictionary must have all arguments. */
function pythonParameters(type: SchemaType, precision: Precision): string[] | undefined {
  if (type.kind !== 'object') return undefined;
  const { fields, rest } = type;
  if (!fields.every(({ name }) => isParameterName(name, 'python'))) return undefined;
  const parameters = fields.map((field) => pythonParameter(field, precision));
  // An object that is the only argument has the arguments by their names.
  const [first] = fields;
  const byName = first !== undefined && mayBeObject(first.type) ? ['*'] : [];
  const others = rest === undefined ? [] : [`**others: ${typeText(rest, 'python', precision)}`];
  return [...byName, ...parameters, ...others];
}

function pythonParameter({ name, type, optional, default: value }: Field, precision: Precision): string {
  const text = typeText(type, 'python', precision);
  if (!optional) return `${name}: ${text}`;
  if (value !== undefined && value !== null) return `${name}: ${text} = ${NOTATIONS.python.scalar(value)}`;
  return `${name}: ${mayBeNull(type) ? text : `${text} | None`} = None`;
}

/** Returns the type of a tool's result: known if the tool declares it, or if a person gives it. */
function resultType({ answer, result = answer }: SignedTool, { depth }: Precision): SchemaType {
  return result === undefined ? ANY : schemaType(result, depth);
}

function typeText(type: SchemaType, language: CodeLanguage, { literals }: Precision): string {
  return NOTATIONS[language].type(type, literals);
}

function mayBeObject({ kind, ...rest }: SchemaType): boolean {
  return kind === 'object' || kind === 'any' || ('choices' in rest && rest.choices.some(mayBeObject));
}

function mayBeNull(type: SchemaType): boolean {
  if (type.kind === 'union') return type.choices.some(mayBeNull);
  return type.kind === 'null' || type.kind === 'any' || (type.kind === 'literal' && type.values.includes(null));
}

function hintOf(tool: SignedTool): string {
  const names = parameterNames(tool);
  let text = '';
  for (const [index, name] of names.entries()) {
    const more = `${index === 0 ? '' : ', '}${JSON.stringify(name)}`;
    if (text.length + more.length > MAX_NAMES) return `${text}${text === '' ? '' : ', '}… (${names.length} in all)`;
    text += more;
  }
  return text;
}
