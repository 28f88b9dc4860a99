import { describe, expect, inject, test } from 'vitest';
import { durableTest, testProgram } from '../../../src/testing/index.ts';
import { matrixSample } from '../../matrix-sample.ts';
import { PROGRAM_SCENARIOS } from '../../testing/program-scenarios/index.ts';
import { courseOf } from '../../testing/program-scenarios/scenario.ts';
import { asking, observedProgram } from '../testing/observed.ts';

const server = { address: inject('temporalAddress'), namespace: inject('temporalNamespace') };
const worker = { workflowBundle: { codePath: inject('workflowBundlePath') } };

describe.concurrent('a program on a server takes the same course as in memory', () => {
  test.each(matrixSample(PROGRAM_SCENARIOS))('$name', { timeout: 120_000 }, async ({ program, options, course }) => {
    const [memory, real] = [asking(options()), asking(options())];
    const tested = await durableTest(program, { ...real.options, ...server, worker, timeout: '90s' });
    expect(courseOf(tested, course)).toEqual(course);
    // On a busy machine a deadline of milliseconds passes before the first step begins.
    if (course.stopReason === 'deadline') return;
    expect(observedProgram(tested, real.asked)).toEqual(observedProgram(await testProgram(program, memory.options), memory.asked));
  });
});
