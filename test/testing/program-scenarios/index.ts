import { BLOCKS } from './blocks.ts';
import { INTERRUPTIONS } from './decisions.ts';
import { FAILURES } from './failures.ts';
import type { ProgramScenario } from './scenario.ts';
import { ASKS_WITH_TOOLS, STEPS } from './steps.ts';

/** Runs of programs whose course is the same in memory and on a server. */
export const PROGRAM_SCENARIOS: readonly ProgramScenario[] = [...STEPS, ...ASKS_WITH_TOOLS, ...FAILURES, ...BLOCKS, ...INTERRUPTIONS];
