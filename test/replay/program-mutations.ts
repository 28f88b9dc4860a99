import type { BrokenChange } from './mutation.ts';

/** The order of units and steps. */
const ORDER: readonly BrokenChange[] = [
  {
    what: 'runs the units of a graph sequentially',
    file: 'src/core/interpret.ts',
    find: 'const end = isGraph ?',
    replace: 'const end = !isGraph && isGraph ?',
    history: 'program-as-a-graph-of-units',
    caught: { step: 1, expected: 'activity "search"', actual: 'nothing more in this task' },
  },
  {
    what: 'begins a unit before those that it needs have ended',
    file: 'src/core/interpret.ts',
    find: 'Promise.all(needed.map(async (name) => ends.get(name)))',
    replace: 'Promise.all(needed.slice(1).map(async (name) => ends.get(name)))',
    history: 'program-as-a-graph-of-units',
    caught: { step: 1, expected: 'activity "odd"', actual: 'nothing more in this task' },
  },
  {
    what: 'runs a unit although one that it needs has failed',
    file: 'src/core/interpret.ts',
    find: "?.status !== 'completed');",
    replace: "?.status === 'skipped');",
    history: 'program-as-a-graph-of-units',
    caught: { step: 1, expected: 'nothing more in this task', actual: 'activity "askStep"' },
  },
  {
    what: 'looks values up before it stores them',
    file: 'src/core/interpret.ts',
    find: 'for (const step of steps) {',
    replace: 'for (const step of steps.toSorted((a, b) => (a.remember && b.recall ? 1 : a.recall && b.remember ? -1 : 0))) {',
    history: 'program-with-every-kind-of-step',
    caught: { step: 2, expected: 'activity "search"', actual: 'activity "askStep"' },
  },
  {
    what: 'runs a step whose condition does not hold',
    file: 'src/core/interpret.ts',
    find: 'step.when !== undefined && !conditionHolds',
    replace: 'step.when === undefined && step.when && !conditionHolds',
    history: 'program-with-blocks',
    caught: { step: 7, expected: 'activity "search"', actual: 'activity "askStep"' },
  },
  {
    what: 'inverts conditions',
    file: 'src/core/program/references.ts',
    find: 'found?.found === true && checkJson(is, found.value).length === 0',
    replace: '!(found?.found === true && checkJson(is, found.value).length === 0)',
    history: 'program-given-as-a-document',
    caught: { step: 2, expected: 'activity "search"', actual: 'activity "askStep"' },
  },
];

/** Blocks. */
const BLOCKS: readonly BrokenChange[] = [
  {
    what: 'runs the branches of a parallel block sequentially',
    file: 'src/core/program/blocks.ts',
    find: 'await run.budget.sideBySide(branches.map((steps) => () => run.runSteps({ ...address, steps })));',
    replace:
      'await branches.reduce<Promise<StepsEnd[]>>(async (ends, steps) => [...(await ends), await run.runSteps({ ...address, steps })], Promise.resolve([]));',
    history: 'program-with-blocks',
    caught: { step: null, expected: 'a timer', actual: 'nothing more in this task' },
  },
  {
    what: 'runs more items of a list at once',
    file: 'src/core/program/blocks.ts',
    find: 'block.atOnce ?? PROGRAM_LIMITS.defaultAtOnce',
    replace: '(block.atOnce ?? 0) + PROGRAM_LIMITS.defaultAtOnce',
    history: 'program-with-blocks',
    caught: { step: 3, expected: 'activity "search"', actual: 'a timer' },
  },
  {
    what: 'runs the items of a list from the last to the first',
    file: 'src/core/program/blocks.ts',
    find: 'const index = next;',
    replace: 'const index = list.length - 1 - next;',
    history: 'program-with-blocks',
    caught: { step: 7, expected: 'activity "search"', actual: 'nothing more in this task' },
  },
  {
    what: 'begins further items after one has failed',
    file: 'src/core/program/blocks.ts',
    find: 'next < list.length && ends.length === 0 &&',
    replace: 'next < list.length &&',
    history: 'program-with-a-failing-item',
    caught: { step: 1, expected: 'nothing more in this task', actual: 'activity "odd"' },
  },
  {
    what: 'takes the last case of a branch that holds',
    file: 'src/core/program/blocks.ts',
    find: 'block.cases.findIndex(',
    replace: 'block.cases.findLastIndex(',
    history: 'program-with-blocks',
    caught: { step: 2, expected: 'activity "askStep"', actual: 'activity "search"' },
  },
  {
    what: 'runs a round more than a block allows',
    file: 'src/core/program/blocks.ts',
    find: 'round + 1 >= block.atMost',
    replace: 'round >= block.atMost',
    history: 'program-with-blocks',
    caught: { step: 7, expected: 'nothing more in this task', actual: 'activity "search"' },
  },
];

/** Local tools. */
const LOCAL_TOOLS: readonly BrokenChange[] = [
  {
    what: 'makes local calls in parallel to other steps',
    file: 'src/core/program/tool-step.ts',
    find: '!run.isSideBySide && ',
    replace: '',
    history: 'program-with-local-tools-side-by-side',
    caught: { step: 1, expected: 'activity "slowly"', actual: 'local activity "slowly"' },
  },
  {
    what: 'makes no local call',
    file: 'src/core/program/tool-step.ts',
    find: '!run.isSideBySide && ',
    replace: 'run.isSideBySide && ',
    history: 'program-with-every-kind-of-step',
    caught: { step: 2, expected: 'local activity "tenfold"', actual: 'activity "tenfold"' },
  },
];

/** Changes of the order of units and steps. */
export const ORDER_CHANGES: readonly BrokenChange[] = [...ORDER, ...BLOCKS, ...LOCAL_TOOLS];

/** Attempts and waits. */
const ATTEMPTS: readonly BrokenChange[] = [
  {
    what: 'does not wait between two attempts',
    file: 'src/core/program/refine.ts',
    find: 'waitMs = delayAfter(number, config.backoff);',
    replace: 'waitMs = delayAfter(number, config.backoff) * 0;',
    history: 'program-with-further-attempts',
    caught: { step: null, expected: 'a timer', actual: 'activity "askStep"' },
  },
  {
    what: 'waits longer between two attempts',
    file: 'src/core/program/refine.ts',
    find: 'EXPONENTIAL_MS * 2 ** attempt',
    replace: 'EXPONENTIAL_MS * 3 ** attempt',
    history: 'program-with-further-attempts',
    caught: { step: null, expected: 'activity "askStep"', actual: 'a timer' },
  },
  {
    what: 'makes one attempt less',
    file: 'src/core/program/refine.ts',
    find: 'number <= config.maxAttempts;',
    replace: 'number < Math.max(2, config.maxAttempts);',
    history: 'program-with-further-attempts',
    caught: { step: null, expected: 'a timer', actual: 'activity "askStep"' },
  },
  {
    what: 'takes an answer that breaches an anchor',
    file: 'src/core/program/step-attempts.ts',
    find: "if (error !== undefined) return { type: 'failed', error, id };",
    replace: '',
    history: 'program-with-further-attempts',
    caught: { step: null, expected: 'a timer', actual: 'activity "askStep"' },
  },
  {
    what: 'does not run the fallback of a step',
    file: 'src/core/program/step-attempts.ts',
    find: 'if (fallback !== undefined) {',
    replace: 'if (fallback === "") {',
    history: 'program-with-further-attempts',
    caught: { step: 8, expected: 'activity "odd"', actual: 'a change of search attributes' },
  },
  {
    what: 'sleeps for whole seconds',
    file: 'src/core/program/step-attempts.ts',
    find: 'milliseconds(duration.value as Duration, `step "${at}": "sleep"`)',
    replace: 'Math.ceil(milliseconds(duration.value as Duration, at) / 1_000) * 1_000',
    history: 'program-with-every-kind-of-step',
    caught: { step: 2, expected: 'activity "useMemory"', actual: 'a timer' },
  },
];

/** People. */
const PEOPLE: readonly BrokenChange[] = [
  {
    what: 'asks for the approval after the step was paid',
    file: 'src/core/program/step-attempts.ts',
    find: 'const decided = await approve(run, running, step);\n  const end = decided ?? (await runStepKind(run, running, step));',
    replace: 'const acted = await runStepKind(run, running, step);\n  const end = (await approve(run, running, step)) ?? acted;',
    history: 'program-decided-in-every-way',
    caught: { step: null, expected: 'a change of search attributes', actual: 'activity "askStep"' },
  },
  {
    what: 'takes an output without the review',
    file: 'src/core/program/approvals.ts',
    find: 'if (step.review === undefined) return done;',
    replace: 'if (step.review === undefined || step.ask !== undefined) return done;',
    history: 'program-decided-in-every-way',
    caught: { step: 2, expected: 'a change of search attributes', actual: 'activity "askStep"' },
  },
  {
    what: 'tries a rejected step again',
    file: 'src/core/program/approvals.ts',
    find: ', isFinal: true };',
    replace: ' };',
    history: 'program-with-rejected-steps',
    caught: { step: null, expected: 'the end as Failed', actual: 'nothing more in this task' },
  },
  {
    what: 'does not ask the tool which calls wait',
    file: 'src/core/program/tool-step.ts',
    find: 'ports.reevaluateApproval(invocation)',
    replace: 'Promise.resolve({ digest: `${eventId}/0` })',
    history: 'program-decided-in-every-way',
    caught: { step: 2, expected: 'activity "reevaluateApproval"', actual: 'a change of search attributes' },
  },
  {
    what: 'forgets the deadline of a step',
    file: 'src/core/program/approvals.ts',
    find: 'if (deadline === true) return {};',
    replace: 'if (deadline !== undefined) return {};',
    history: 'program-decided-by-its-deadlines',
    caught: { step: null, expected: 'a timer', actual: 'nothing more in this task' },
  },
];

/** Changes of attempts, waits and decisions. */
export const ATTEMPT_CHANGES: readonly BrokenChange[] = [...ATTEMPTS, ...PEOPLE];

/** Ends, executions, children and earlier runs. */
export const EXECUTION_CHANGES: readonly BrokenChange[] = [
  {
    what: 'does an extra activity before it closes',
    file: 'src/core/interpret.ts',
    find: 'takeRequests(state, ports);\n  const reason',
    replace: 'await ports.readEarlier(state.runId);\n  takeRequests(state, ports);\n  const reason',
    history: 'program-given-as-a-document',
    caught: { step: 2, expected: 'a change of search attributes', actual: 'activity "readProgram"' },
  },
  {
    what: 'continues beyond a limit',
    file: 'src/core/program/program-run.ts',
    find: "if (call === 'model') return budget.onModelCall(ports.now());",
    replace: "if (call === 'model') return { type: 'start', granted: true };",
    history: 'program-at-its-limit',
    caught: { step: 3, expected: 'a change of search attributes', actual: 'activity "askStep"' },
  },
  {
    what: 'does not wait while the run is paused',
    file: 'src/core/program/program-run.ts',
    find: 'if (ports.inbox.paused) await',
    replace: 'if (!ports.inbox.paused) await',
    history: 'program-paused-and-raised',
    caught: { step: null, expected: 'a change of search attributes', actual: 'activity "search"' },
  },
  {
    what: 'never continues as new before a step',
    file: 'src/core/program/program-run.ts',
    find: 'this.stop === undefined && ports.continueDue(ACTIVITY)',
    replace: 'this.stop === null && ports.continueDue(ACTIVITY)',
    history: 'program-over-executions',
    caught: { step: 1, expected: 'the cancellation of a timer', actual: 'activity "tenfold"' },
  },
  {
    what: 'names its children differently',
    file: 'src/core/program/child-step.ts',
    find: 'const runId = `${run.state.runId}/${at}',
    replace: 'const runId = `${run.state.runId}/child/${at}',
    history: 'program-with-descendants',
    caught: 'Child workflow id of scheduled event',
  },
  {
    what: 'does not tell a child to report to the next execution',
    file: 'src/core/capabilities/children/children.ts',
    find: 'if (!hasEnded() && !(await effects.tell()))',
    replace: 'if (!hasEnded() && !isLeft())',
    history: 'program-with-a-child-across-executions',
    caught: { step: null, expected: 'signal "notifyOnEnd"', actual: 'continue-as-new' },
  },
  {
    what: 'leaves its child running if it is cancelled',
    file: 'src/core/capabilities/children/children.ts',
    find: 'await effects.cancel();',
    replace: '',
    history: 'program-cancelled-with-its-child',
    caught: { step: null, expected: 'the cancellation of another workflow', actual: 'a change of search attributes' },
  },
  {
    what: 'does not read the result of a child of an earlier execution',
    file: 'src/core/capabilities/children/children.ts',
    find: 'if (hasReported()) return readEnded(effects);',
    replace: "if (hasReported()) return { type: 'failed', code: 'child_failed', message: '' };",
    history: 'program-with-a-child-across-executions-3',
    caught: { step: null, expected: 'activity "readResult"', actual: 'a change of search attributes' },
  },
  {
    what: 'takes over nothing of an earlier run',
    file: 'src/core/program/reuse.ts',
    find: 'if (result === undefined || isNamedInside',
    replace: 'if (result !== null || isNamedInside',
    history: 'program-resumed-from-an-earlier-run',
    caught: { step: null, expected: 'activity "askStep"', actual: 'activity "search"' },
  },
  {
    what: 'takes over results of the step that it restarts from',
    file: 'src/core/program/reuse.ts',
    find: 'if (from === undefined) return true;',
    replace: 'if (from !== unit.name) return true;',
    history: 'program-resumed-from-a-step-2',
    caught: { step: 1, expected: 'continue-as-new', actual: 'a change of search attributes' },
  },
];
