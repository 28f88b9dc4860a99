import type { BrokenChange } from '../mutation.ts';

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
