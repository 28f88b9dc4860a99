import type { z } from 'zod';
import { UsageError } from '../../core/domain/errors/error.ts';
import { isObjectSchema, toStrictJsonSchema, toStrictPart } from '../../schema/strict-json-schema.ts';
import { jsonSchemaOf } from '../../schema/zod-json-schema.ts';
import type { OutputDefinition } from '../agent-definition.ts';
import { requireZod, wholeNumber } from './option-checks.ts';
import { providerSchema } from './provider-schema.ts';

/** The options of an agent that concern its answer. */
export interface OutputOptions {
  output: z.ZodType;
  outputMode?: 'schema' | 'final_answer';
  outputRetries?: number;
}

/**
 * Checks the options of a structured answer. The parsed value is stored as JSON, so the schema has to be JSON on both
 * sides. Providers enforce object schemas only; any other answer comes as the argument of a `final_answer` tool.
 */
export function defineOutput(owner: string, options: OutputOptions): OutputDefinition {
  const { output, outputMode, outputRetries } = options;
  requireZod(`${owner}: "output"`, output);
  const schema = jsonSchemaOf(output, `${owner}: output`);
  jsonSchemaOf(output, `${owner}: output`, 'output');
  const isObject = isObjectSchema(schema);
  if (outputMode !== undefined && outputMode !== 'schema' && outputMode !== 'final_answer') {
    throw new UsageError(`${owner}: "outputMode" is ${JSON.stringify(outputMode)}: write "schema" or "final_answer"`);
  }
  if (outputMode === 'schema' && !isObject) {
    throw new UsageError(
      `${owner}: output is not an object schema, which "outputMode": "schema" needs: write z.object({...}) or leave the mode out`,
    );
  }
  const conversion = isObject ? toStrictJsonSchema(schema) : toStrictPart(schema);
  return {
    zod: output,
    schema,
    ...providerSchema(`${owner}: output`, schema, conversion, undefined),
    mode: isObject ? outputMode : 'final_answer',
    maxRetries: wholeNumber(`${owner}: "outputRetries"`, outputRetries ?? 2, 0),
  };
}
