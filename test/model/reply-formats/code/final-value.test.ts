import { expect, test } from 'vitest';
import { z } from 'zod';
import { finalValue } from '../../../../src/model/check-output.ts';

const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

test('without an output schema any final answer is the output', () => {
  expect(finalValue(null, undefined)).toEqual({ value: null });
});

test('a final answer is checked against the output schema, and gets its defaults', () => {
  const zod = z.object({ n: z.number(), unit: z.string().default('m') });
  expect(finalValue({ n: 1 }, { schema, zod: undefined })).toEqual({ value: { n: 1 } });
  expect(finalValue({ n: 1 }, { schema, zod })).toEqual({ value: { n: 1, unit: 'm' } });
  expect(finalValue({}, { schema, zod })).toEqual({
    problem: 'The final answer does not fit the required JSON Schema: missing required field "n"',
  });
});
