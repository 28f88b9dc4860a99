import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../../core/domain/errors.ts';
import { component } from './component.ts';

/** The body of every refusal. */
export const problem = component(
  'Problem',
  z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      instance: z.string().exactOptional(),
      code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]).describe('The identity of the error.'),
      errors: z
        .array(z.object({ pointer: z.string().exactOptional(), parameter: z.string().exactOptional(), detail: z.string() }))
        .exactOptional()
        .describe('The parts of the request that do not have the shape that the route takes, by JSON pointers into its body.'),
    })
    .describe('A problem, as RFC 9457 has it.'),
);
