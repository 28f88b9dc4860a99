import type { jsonSchemaValidator } from '@modelcontextprotocol/client';
import { cleanJson } from '../../src/model/clean-json.ts';
import { isJsonObject } from '../../src/core/domain/json/json.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import { checkableSchema } from './checkable-schema.ts';

/**
 * Checks structured results against the schema of their tool, by interpretation: a server's schema must not be compiled
 * to code.
 */
export const outputValidation: jsonSchemaValidator = {
  getValidator<Value>(schema: unknown) {
    const plain = cleanJson(schema);
    const checked = plain !== undefined && isJsonObject(plain) ? checkableSchema(plain) : {};
    return (input: unknown) => {
      const problems = checkJson(checked, input);
      if (problems.length === 0) return { valid: true, data: input as Value, errorMessage: undefined };
      return { valid: false, data: undefined, errorMessage: problemsText(problems) };
    };
  },
};
