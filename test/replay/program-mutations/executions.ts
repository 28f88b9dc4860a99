import type { BrokenChange } from '../replay-mutated.ts';

const INTERPRETER = 'src/core/program/interpreter';

/** Ends, executions, children and earlier runs. */
export const EXECUTION_CHANGES: readonly BrokenChange[] = [
  {
    what: 'does an extra activity before it closes',
    file: `${INTERPRETER}/run-program.ts`,
    find: 'takeRequests(state, ports);\n  const reason',
    replace: 'await ports.readEarlier(state.runId);\n  takeRequests(state, ports);\n  const reason',
    history: 'program-given-as-a-document',
    caught: { step: 2, expected: 'a change of search attributes', actual: 'activity "readProgram"' },
  },
  {
    what: 'goes on beyond a limit',
    file: `${INTERPRETER}/program-run.ts`,
    find: "if (call === 'model') return budget.onModelCall(ports.now());",
    replace: "if (call === 'model') return { type: 'start', granted: true };",
    history: 'program-at-its-limit',
    caught: { step: 3, expected: 'a change of search attributes', actual: 'activity "askStep"' },
  },
  {
    what: 'does not wait while the run is paused',
    file: `${INTERPRETER}/program-run.ts`,
    find: 'if (ports.inbox.paused) await',
    replace: 'if (!ports.inbox.paused) await',
    history: 'program-paused-and-raised',
    caught: { step: null, expected: 'a change of search attributes', actual: 'activity "search"' },
  },
  {
    what: 'never continues as new before a step',
    file: `${INTERPRETER}/program-run.ts`,
    find: 'this.stop === undefined && ports.continueDue(ACTIVITY)',
    replace: 'this.stop === null && ports.continueDue(ACTIVITY)',
    history: 'program-over-executions',
    caught: { step: 1, expected: 'the cancellation of a timer', actual: 'activity "tenfold"' },
  },
  {
    what: 'names its children differently',
    file: `${INTERPRETER}/steps/child-start.ts`,
    find: 'const runId = `${run.state.runId}/${at}',
    replace: 'const runId = `${run.state.runId}/child/${at}',
    history: 'program-with-descendants',
    caught: 'Child workflow id of scheduled event',
  },
  {
    what: 'does not tell a child to report to the next execution',
    file: 'src/core/loop/children.ts',
    find: 'if (!hasEnded() && !(await effects.tell()))',
    replace: 'if (!hasEnded() && !isLeft())',
    history: 'program-with-a-child-across-executions',
    caught: { step: null, expected: 'signal "reportEnd"', actual: 'continue-as-new' },
  },
  {
    what: 'leaves its child running if it is cancelled',
    file: 'src/core/loop/children.ts',
    find: 'await effects.cancel();',
    replace: '',
    history: 'program-cancelled-with-its-child',
    caught: { step: null, expected: 'the cancellation of another workflow', actual: 'a change of search attributes' },
  },
  {
    what: 'does not read the result of a child of an earlier execution',
    file: 'src/core/loop/children.ts',
    find: 'if (hasReported()) return readEnded(effects);',
    replace: "if (hasReported()) return { type: 'failed', code: 'child_failed', message: '' };",
    history: 'program-with-a-child-across-executions-2',
    caught: { step: null, expected: 'activity "readResult"', actual: 'a change of search attributes' },
  },
  {
    what: 'takes over nothing of an earlier run',
    file: `${INTERPRETER}/reuse.ts`,
    find: 'if (earlier === undefined) return false;',
    replace: 'if (earlier !== undefined) return false;',
    history: 'program-resumed-from-an-earlier-run',
    caught: { step: null, expected: 'a change of search attributes', actual: 'activity "askStep"' },
  },
  {
    what: 'takes over results of the step from which it starts again',
    file: 'src/core/program/needed-outputs.ts',
    find: 'if (from === undefined) return true;',
    replace: 'if (from !== step) return true;',
    history: 'program-resumed-from-a-step-2',
    caught: { step: 1, expected: 'continue-as-new', actual: 'a change of search attributes' },
  },
];
