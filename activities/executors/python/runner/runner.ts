import { CALLS } from './calls.ts';
import { CELLS } from './cells.ts';
import { FRAMES } from './frames.ts';
import { JSON_TEXT } from './json-text.ts';
import { MOMENT } from './moment.ts';
import { SCRATCHPAD } from './scratchpad.ts';
import { SUPERVISOR } from './supervisor.ts';

/**
 * The program in Python that runs in the sandbox: a supervisor, and the interpreter that it starts, which runs one cell after the
 * other. The supervisor trusts the worker alone. The interpreter may be taken over by the code that it runs.
 */
export const RUNNER = SUPERVISOR + FRAMES + JSON_TEXT + CALLS + SCRATCHPAD + MOMENT + CELLS;
