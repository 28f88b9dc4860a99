import type { CodeLanguage } from '../../domain/code/code-snapshot.ts';
import type { Field, Scalar, SchemaType } from './schema-type.ts';

/** The way in which a language writes types. */
export interface TypeNotation {
  /** Writes a type. Of a literal type, at most `literals` values are written. */
  type(type: SchemaType, literals: number): string;
  scalar(value: Scalar): string;
}

type KindOf<Kind extends SchemaType['kind']> = SchemaType & { kind: Kind };

const TYPESCRIPT: TypeNotation = {
  type(type, literals) {
    switch (type.kind) {
      case 'integer':
        return 'number';
      case 'literal':
        return literalTexts(type, literals, JSON.stringify).join(' | ');
      case 'list': {
        const item = this.type(type.item, literals);
        return isJoined(type.item) ? `(${item})[]` : `${item}[]`;
      }
      case 'tuple':
        return `[${type.items.map((item) => this.type(item, literals)).join(', ')}]`;
      case 'object':
        return braces(type, {
          plain: 'object',
          rest: (rest) => `[key: string]: ${this.type(rest, literals)}`,
          field: ({ name, optional, type: of }) => `${key(name)}${optional ? '?' : ''}: ${this.type(of, literals)}`,
          separator: '; ',
        });
      case 'union':
        return type.choices.map((choice) => this.type(choice, literals)).join(' | ');
      default:
        return type.kind;
    }
  },
  scalar: (value) => JSON.stringify(value),
};

const PYTHON_NAMES = { any: 'Any', null: 'None', boolean: 'bool', string: 'str', number: 'float', integer: 'int' } as const;

const PYTHON: TypeNotation = {
  type(type, literals) {
    switch (type.kind) {
      case 'literal':
        return `Literal[${literalTexts(type, literals, (value) => this.scalar(value)).join(', ')}]`;
      case 'list':
        return `list[${this.type(type.item, literals)}]`;
      case 'tuple':
        return `tuple[${type.items.map((item) => this.type(item, literals)).join(', ')}]`;
      case 'object':
        if (type.fields.length === 0 && type.rest !== undefined && type.rest.kind !== 'any')
          return `dict[str, ${this.type(type.rest, literals)}]`;
        return braces(type, {
          plain: 'dict',
          rest: () => '...',
          field: ({ name, optional, type: of }) => {
            const text = this.type(of, literals);
            return `${JSON.stringify(name)}: ${optional ? `NotRequired[${text}]` : text}`;
          },
          separator: ', ',
        });
      case 'union':
        return type.choices.map((choice) => this.type(choice, literals)).join(' | ');
      default:
        return PYTHON_NAMES[type.kind];
    }
  },
  scalar(value) {
    if (value === null) return 'None';
    if (typeof value === 'boolean') return value ? 'True' : 'False';
    return JSON.stringify(value);
  },
};

/** The notations of types, by language: TypeScript for JavaScript, and the type hints of Python. */
export const NOTATIONS: Readonly<Record<CodeLanguage, TypeNotation>> = { javascript: TYPESCRIPT, python: PYTHON };

/** The parts of the text of an object. */
interface ObjectParts {
  /** Any object. */
  plain: string;
  rest(type: SchemaType): string;
  field(field: Field): string;
  separator: string;
}

function braces({ fields, rest }: KindOf<'object'>, parts: ObjectParts): string {
  if (fields.length === 0 && rest?.kind === 'any') return parts.plain;
  return `{${[...fields.map((field) => parts.field(field)), ...(rest === undefined ? [] : [parts.rest(rest)])].join(parts.separator)}}`;
}

function literalTexts({ values }: KindOf<'literal'>, most: number, text: (value: Scalar) => string): string[] {
  const missing = values.length - most;
  return [...values.slice(0, most).map(text), ...(missing > 0 ? [`… ${missing} more`] : [])];
}

/** True if the text of a type has a `|` outside of brackets. */
function isJoined(type: SchemaType): boolean {
  return type.kind === 'union' || (type.kind === 'literal' && type.values.length > 1);
}

function key(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : JSON.stringify(name);
}
