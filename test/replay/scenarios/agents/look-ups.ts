import { callTool, say, together } from '../../../../src/testing/index.ts';

/** One call of a tool. */
export const lookUp = callTool('search', { query: 'a' }, 'c1');

/** A call that succeeds, one that fails, and one of an unknown tool. */
export const both = together(say('looking'), lookUp, callTool('broken', {}, 'c2'), callTool('nope', {}, 'c3'));

/** Three calls. */
export const threeLookUps = together(lookUp, callTool('search', { query: 'b' }, 'c2'), callTool('search', { query: 'c' }, 'c3'));
