import type { JsonValue } from '../json/json.ts';
import type { CodeLanguage } from './code-snapshot.ts';

/** The names of the values that the languages write differently. */
const NAMES: Readonly<Record<CodeLanguage, { null: string; true: string; false: string }>> = {
  javascript: { null: 'null', true: 'true', false: 'false' },
  python: { null: 'None', true: 'True', false: 'False' },
};

/** Returns a value as code of the language writes it: `[1, 'two', {'three': None}]` in Python. */
export function codeLiteral(value: JsonValue, language: CodeLanguage): string {
  if (value === null) return NAMES[language].null;
  switch (typeof value) {
    case 'boolean':
      return value ? NAMES[language].true : NAMES[language].false;
    case 'number':
      return String(value);
    case 'string':
      return quoted(value, language);
    default:
      return Array.isArray(value)
        ? `[${value.map((item) => codeLiteral(item, language)).join(', ')}]`
        : `{${Object.entries(value)
            .map(([key, member]) => `${quoted(key, language)}: ${codeLiteral(member, language)}`)
            .join(', ')}}`;
  }
}

/** Puts a text in single quotes, or in double quotes if it has single quotes alone. */
function quoted(text: string, language: CodeLanguage): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll(/[\\'\p{C}\p{Zl}\p{Zp}\p{Zs}]/gu, (character) => escape(character, quote, language));
  return quote + escaped + quote;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes a character that ends the text or that a reader could not see. */
function escape(character: string, quote: string, language: CodeLanguage): string {
  if (character === ' ') return character;
  if (character === "'") return quote === "'" ? "\\'" : "'";
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
  if (code <= 0xffff) return `\\u${digits.padStart(4, '0')}`;
  return language === 'python' ? `\\U${digits.padStart(8, '0')}` : `\\u{${digits}}`;
}
