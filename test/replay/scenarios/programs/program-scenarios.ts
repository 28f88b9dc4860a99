import type { ProgramScenario } from '../../scenario.ts';
import { asksAndLimits } from './asks-and-limits.ts';
import { blocks } from './blocks.ts';
import { children } from './children.ts';
import { decisions } from './decisions.ts';
import { executions } from './executions.ts';
import { interruptions } from './interruptions.ts';
import { steps } from './steps.ts';
import { units } from './units.ts';

/** The scenarios of programs, by the run id. */
export const programScenarios: Record<string, ProgramScenario> = {
  ...steps,
  ...blocks,
  ...units,
  ...decisions,
  ...executions,
  ...children,
  ...interruptions,
  ...asksAndLimits,
};
