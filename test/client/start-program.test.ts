import { expect, test } from 'vitest';
import { z } from 'zod';
import { programInput } from '../../src/client/start.ts';
import { ask, defineProgram, unit } from '../../src/define/program/index.ts';

const units = [unit('one', {}, [ask('Say', 'About {{input.topic}} in {{input.language}}', { model: 'p/m' })])];
const input = z.object({
  topic: z.string(),
  language: z.string().default('English'),
  depth: z.object({ most: z.number().default(3) }).default({ most: 3 }),
});
const program = defineProgram({ name: 'essay', input, units });

test('a program that is started by its definition is sent the defaults of its schema', () => {
  expect(programInput(program, { input: { topic: 'cats' } })).toEqual({
    program: 'essay',
    input: { topic: 'cats', language: 'English', depth: { most: 3 } },
  });
});

test('values that are given replace the defaults', () => {
  const given = { topic: 'cats', language: 'German', depth: { most: 1 } };
  expect(programInput(program, { input: given }).input).toEqual(given);
});

test('an input that does not fit is refused with the field', () => {
  expect(() => programInput(program, { input: { topic: 7 } })).toThrow('The input does not fit program "essay": input.topic: ');
  expect(() => programInput(program, {})).toThrow('input.topic: ');
  expect(() => programInput(program, { input: { topic: 'cats', depth: { most: 'all' } } })).toThrow('input.depth.most: ');
});

test('the input of a document or a name stays as it was given', () => {
  const given = { topic: 'cats', language: 'German', depth: { most: 1 } };
  expect(programInput(program.toJSON(), { input: given }).input).toEqual(given);
  expect(programInput('essay', { input: { topic: 'cats' } })).toEqual({ program: 'essay', input: { topic: 'cats' } });
  expect(programInput('essay', {})).toEqual({ program: 'essay' });
});

test('a program without a schema is started without an input', () => {
  expect(programInput(defineProgram({ name: 'plain', units: [unit('one', {}, [ask('Say', 'Hello', { model: 'p/m' })])] }), {})).toEqual({
    program: 'plain',
  });
});
