import type { JsonValue } from '../../../../src/core/domain/json.ts';
import { mapTexts } from '../wording.ts';

/** The names of types in Python and in JSON, which the product uses. */
const TYPES: Readonly<Record<string, string>> = {
  str: 'string',
  int: 'number',
  float: 'number',
  bool: 'boolean',
  list: 'array',
  NoneType: 'null',
};

/** Converts the texts of the validator in an expectation to JSON's type names, and its whole numbers to JSON's. */
export function jsonTypeNames(expect: JsonValue): JsonValue {
  return mapTexts(expect, (text) =>
    text
      .replaceAll('Expected structured output (dict)', 'Expected structured output (object)')
      .replaceAll(/(Value|minimum|maximum) (-?\d+)\\?\.0(?= |\\?\.)/g, '$1 $2')
      .replaceAll(/, but got (str|int|float|bool|list|NoneType)\./g, (_, type: string) => `, but got ${TYPES[type] ?? type}.`),
  );
}
