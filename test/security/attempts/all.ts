import type { Attempt } from './attempt.ts';
import { CALLS } from './calls.ts';
import { MEMORY } from './memory.ts';
import { PROTOCOL } from './protocol.ts';
import { REACH } from './reach.ts';
import { STACK } from './stack.ts';
import { TIME } from './time.ts';

export const ATTEMPTS: readonly Attempt[] = [...REACH, ...TIME, ...MEMORY, ...STACK, ...PROTOCOL, ...CALLS];
