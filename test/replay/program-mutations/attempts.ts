import type { BrokenChange } from '../mutation.ts';

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
    find: 'if (fallback !== undefined) return takeFallback',
    replace: 'if (fallback === "") return takeFallback',
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
