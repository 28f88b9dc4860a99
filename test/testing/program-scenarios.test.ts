import { describe, expect, test } from 'vitest';
import { testProgram } from '../../src/testing/index.ts';
import { PROGRAM_SCENARIOS } from './program-scenarios/index.ts';
import { courseOf } from './program-scenarios/scenario.ts';

describe('a program in memory', () => {
  test.each(PROGRAM_SCENARIOS)('$name', async ({ program, options, course }) => {
    const tested = await testProgram(program, options());
    expect(courseOf(tested, course)).toEqual(course);
  });
});
