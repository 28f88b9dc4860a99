export { JAVASCRIPT_RESERVED_WORDS as RESERVED_WORDS } from '../../../src/core/code/callable-tools.ts';
