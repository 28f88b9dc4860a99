import { CALLS } from './calls.ts';
import { CELLS } from './cells.ts';
import { FRAMES } from './frames.ts';
import { JSON_TEXT } from './json-text.ts';
import { MOMENT } from './moment.ts';
import { SCRATCHPAD } from './scratchpad.ts';

/**
 * The program in Python that runs in the sandbox: it runs one cell after the other, and answers in frames. It trusts the frames that
 * it receives, which come from the executor alone; code that reaches into it harms its own run.
 */
export const RUNNER = FRAMES + JSON_TEXT + CALLS + SCRATCHPAD + MOMENT + CELLS;
