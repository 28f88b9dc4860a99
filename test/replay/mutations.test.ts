import { afterAll, describe, expect, test, vi } from 'vitest';
import { installSilentRuntime } from '../../src/cli/commands/replay.ts';
import { matrixSample } from '../matrix-sample.ts';
import { removeMutated } from './mutated-bundle.ts';
import { type BrokenChange, replayMutated, verdictOn } from './replay-mutated.ts';

// Building a bundle takes a while on a busy machine.
vi.setConfig({ testTimeout: 60_000 });
await installSilentRuntime();
afterAll(removeMutated);

const CHANGES: readonly BrokenChange[] = [
  {
    what: 'starts the tools of one answer in another order',
    file: 'src/core/kernel/tool-scheduler.ts',
    find: 'of prepared.entries()) {\n      if (outcomes[index] !== null || this.#inFlight.has(index)) continue;',
    replace: 'of [...prepared.entries()].toReversed()) {\n      if (outcomes[index] !== null || this.#inFlight.has(index)) continue;',
    history: 'completed-with-parallel-tools',
    caught: { step: 1, expected: 'activity "search"', actual: 'activity "broken"' },
  },
  {
    what: 'leaves an activity out',
    file: 'src/core/activity-requests/activity-ports.ts',
    find: 'runTool: (invocation) =>',
    replace:
      "runTool: (invocation) => invocation.call.name === 'broken' ? " +
      "Promise.resolve({ type: 'result', status: 'error', content: ['left out'], durationMs: 0 }) :",
    history: 'completed-with-parallel-tools',
    caught: { step: 1, expected: 'activity "broken"', actual: 'nothing more in this task' },
  },
  {
    what: 'renames an activity',
    file: 'src/core/activity-requests/agent-requests.ts',
    find: "name: 'callModel'",
    replace: "name: 'askModel'",
    history: 'completed-with-structured-output',
    caught: { step: 1, expected: 'activity "callModel"', actual: 'activity "askModel"' },
  },
  {
    what: 'waits before it calls the model again',
    file: 'workflows/run/execute-run.ts',
    find: 'callModel: (call) =>',
    replace: 'callModel: async (call) => (await (call.step === 2 ? sleep(1_000) : undefined)) ??',
    needs: "import { sleep } from '@temporalio/workflow';",
    history: 'limit-with-final-attempt',
    caught: { step: 2, expected: 'activity "callModel"', actual: 'a timer' },
  },
  {
    what: 'does not let a skill narrow the tools',
    file: 'src/core/capabilities/skills.ts',
    find: 'if (skill === undefined) return undefined;',
    replace: 'if (skill !== undefined) return undefined;',
    history: 'skills-that-narrow',
    caught: { step: 3, expected: 'activity "callModel"', actual: 'activity "search"' },
  },
  {
    what: 'never continues as new',
    file: 'workflows/run/execute-run.ts',
    find: 'return (\n    continueAsNewSuggested ||',
    replace: 'return false && (\n    continueAsNewSuggested ||',
    history: 'continued-after-every-step-2',
    caught: { step: 1, expected: 'continue-as-new', actual: 'activity "callModel"' },
  },
  {
    what: 'keeps its execution while its agents run',
    file: 'src/core/capabilities/children/agent-calls.ts',
    find: 'this.isLeaving = true;',
    replace: '',
    history: 'sub-agents-over-executions',
    caught: { step: 1, expected: 'signal "notifyOnEnd"', actual: 'nothing more in this task' },
  },
  {
    what: 'starts agents again that an earlier execution has started',
    file: 'src/core/capabilities/children/agent-calls.ts',
    find: 'if (earlier !== undefined) return',
    replace: 'if (earlier !== undefined && earlier.startedAt === 0) return',
    history: 'sub-agents-over-executions-2',
    caught: { step: null, expected: 'a timer', actual: 'child workflow "agentRun"' },
  },
  {
    what: 'starts the calls of an answer before the hooks that have an activity of their own',
    file: 'src/core/capabilities/hooks.ts',
    find: 'hasHooksBefore(state, ports, position) ?',
    replace: 'hasHooksBefore(state, ports, position) && position.response.reviewed ?',
    history: 'hooked-remotely',
    caught: { step: 1, expected: 'activity "callHooks"', actual: 'activity "transfer"' },
  },
  {
    what: 'does not call the hooks after an agent',
    file: 'src/core/capabilities/hooks.ts',
    find: 'hooksAfterCall(snapshot, tool).length > 0',
    replace: 'hooksAfterCall(snapshot, tool).length > 9',
    history: 'hooked-in-every-way',
    caught: { step: 1, expected: 'activity "callHooks"', actual: 'activity "callModel"' },
  },
  {
    what: 'asks a model which agents of a parallel flow act',
    file: 'src/core/capabilities/flows.ts',
    find: '(isParallel(state) ? startBranches(state, ports) : undefined)',
    replace: 'undefined',
    history: 'side-by-side-over-executions',
    caught: { step: null, expected: 'child workflow "agentRun"', actual: 'activity "callModel"' },
  },
  {
    what: 'does not check messages beside the model call',
    file: 'src/core/capabilities/guardrails.ts',
    find: 'if (from === undefined) return undefined;',
    replace: 'if (from !== undefined) return undefined;',
    history: 'checked-over-executions',
    caught: { step: null, expected: 'activity "callHooks"', actual: 'activity "callModel"' },
  },
  {
    what: 'does not check an answer',
    file: 'src/core/kernel/model-phase.ts',
    find: 'return points.isAnswerChecked(state) ?',
    replace: 'return !state.snapshot ?',
    history: 'checked-answer-blocked',
    caught: { step: 2, expected: 'activity "callHooks"', actual: 'a change of search attributes' },
  },
  {
    what: 'summarises by another activity',
    file: 'src/core/activity-requests/agent-requests.ts',
    find: "name: 'summarise'",
    replace: "name: 'condense'",
    history: 'compacted-and-summarised',
    caught: { step: 3, expected: 'activity "summarise"', actual: 'activity "condense"' },
  },
  {
    what: 'does not set the search attributes of a run',
    file: 'workflows/visibility.ts',
    find: 'if (!searchAttributes) return;',
    replace: 'if (searchAttributes) return;',
    history: 'completed-with-tools-in-sequence',
    caught: { step: null, expected: 'a change of search attributes', actual: 'activity "callModel"' },
  },
  {
    what: 'does not leave the result of a cancelled run',
    file: 'workflows/runs.ts',
    find: 'upsertMemo({ [RESULT_MEMO]: cancelled });',
    replace: '',
    history: 'cancelled-in-a-model-call',
    caught: { step: 2, expected: 'a change of the memo', actual: 'the end as Canceled' },
  },
  {
    what: 'ends a failed run as a completed one',
    file: 'workflows/runs.ts',
    find: "case 'completed':",
    replace: "case 'completed':\n    case 'error':",
    history: 'failed-in-a-model-call',
    caught: { step: 2, expected: 'the end as Failed', actual: 'the end as Completed' },
  },
  {
    what: 'does not notify of a pending call',
    file: 'src/core/activity-requests/decision-requests.ts',
    find: 'notify: (waiting) => perform(notifyRequest(run, waiting))',
    replace: 'notify: () => Promise.resolve(true)',
    history: 'checked-and-told',
    caught: { step: 1, expected: 'activity "notifyWaiting"', actual: 'a change of search attributes' },
  },
  {
    what: 'forgets the deadline of a decision',
    file: 'src/core/kernel/approvals.ts',
    find: 'deadlineAt === undefined ?',
    replace: 'deadlineAt !== undefined ?',
    history: 'denied-by-its-deadline',
    caught: { step: 1, expected: 'a timer', actual: 'nothing more in this task' },
  },
  {
    what: 'decides without the authorize hook',
    file: 'src/core/kernel/approvals.ts',
    find: 'state.snapshot.authorize && count > 0',
    replace: 'false',
    history: 'checked-and-told',
    caught: { step: 1, expected: 'activity "authorizeDecision"', actual: 'activity "refund"' },
  },
  {
    what: 'does not verify the outcome of a call',
    file: 'src/core/kernel/tool-calls.ts',
    find: 'tool.verify && !ports.cancelRequested()',
    replace: 'tool.verify === undefined && tool.verify',
    history: 'answers-lost',
    caught: { step: 1, expected: 'activity "verifyCall"', actual: 'activity "callModel"' },
  },
  {
    what: 'does not ask a person about the outcome of a call',
    file: 'src/core/kernel/tool-scheduler.ts',
    find: "state.snapshot.onUnknownOutcome !== 'ask'",
    replace: "state.snapshot.onUnknownOutcome === 'ask'",
    history: 'asked-what-became-of-a-call',
    caught: { step: 1, expected: 'a change of search attributes', actual: 'activity "callModel"' },
  },
  {
    what: 'does not evaluate a predicate again after the deps changed',
    file: 'src/core/kernel/tool-scheduler.ts',
    find: 'outcomes.some(hasChangedDeps)',
    replace: '!outcomes.some(hasChangedDeps)',
    history: 'asked-again-after-an-update',
    caught: { step: 1, expected: 'activity "reevaluateApproval"', actual: 'activity "spend"' },
  },
  {
    what: 'makes a local call an activity',
    file: 'src/core/activity-requests/activity-ports.ts',
    find: "const isLocal = tool.tier === 'local'",
    replace: "const isLocal = tool.tier !== 'local' && false",
    history: 'local-tools',
    caught: { step: 1, expected: 'local activity "note_down"', actual: 'activity "note_down"' },
  },
  {
    what: 'makes its calls one by one',
    file: 'workflows/run/bursts.ts',
    find: 'makesBursts(run.snapshot) ?',
    replace: '!makesBursts(run.snapshot) ?',
    history: 'in-bursts',
    caught: { step: null, expected: 'activity "runBurst"', actual: 'activity "callModel"' },
  },
  {
    what: 'makes the calls of a burst once more',
    file: 'src/core/bursts/recorded-burst.ts',
    find: 'if (!this.isPlaying) return undefined;\n    const index',
    replace: 'if (this.isPlaying) return undefined;\n    const index',
    history: 'in-bursts',
    caught: { step: null, expected: 'activity "runBurst"', actual: 'a change of search attributes' },
  },
  {
    what: 'does not end a burst for a request',
    file: 'workflows/run/bursts.ts',
    find: 'run.burst.scope.cancel();',
    replace: '',
    history: 'told-in-a-burst',
    caught: { step: null, expected: 'the cancellation of an activity', actual: 'the answer to an Update' },
  },
  {
    what: 'reads requests before the outcomes of its burst',
    file: 'src/core/bursts/burst-ports.ts',
    find: 'return player.playing === undefined ? ports.inbox : player.noRequests;',
    replace: 'return ports.inbox;',
    history: 'told-in-a-burst',
    caught: { step: 2, expected: 'activity "search"', actual: 'a change of search attributes' },
  },
  {
    what: 'sees a full history before the outcomes of its burst',
    file: 'src/core/bursts/burst-ports.ts',
    find: 'player.playing === undefined && ports.continueDue(',
    replace: 'ports.continueDue(',
    history: 'in-bursts-over-executions',
    caught: { step: null, expected: 'continue-as-new', actual: 'a change of search attributes' },
  },
  {
    what: 'asks for another model call than its burst has made',
    file: 'src/core/bursts/burst.ts',
    find: 'return `m${through}`;',
    replace: 'return `m${through + 1}`;',
    history: 'burst-resumed-by-another-worker',
    caught: { step: null, expected: 'the end as Completed', actual: 'the end as Failed' },
  },
];

describe('a change of the loop without a patch is detected where the run would be stuck', () => {
  test.each(matrixSample(CHANGES))(
    'a loop that $what',
    async ({ history, caught, ...mutation }) => {
      const verdicts = await replayMutated(mutation, [history]);
      expect(verdicts[history]).toMatchObject(verdictOn({ caught }));
    },
    60_000,
  );
});

test('a change that throws outside of any call is detected with its message', async () => {
  const change = {
    file: 'workflows/visibility.ts',
    find: 'if (!searchAttributes) return;',
    replace: "if (status !== 'running') throw new TypeError('a defect');",
  };
  const verdicts = await replayMutated(change, ['failed-with-an-unknown-agent', 'completed-with-parallel-tools']);
  expect(verdicts['failed-with-an-unknown-agent']).toEqual({ type: 'ok' });
  expect(verdicts['completed-with-parallel-tools']).toEqual({ type: 'failed', message: 'a defect', step: 2 });
});

test('a change of the text that a model reads leaves the commands unchanged, and breaks no run', async () => {
  const verdicts = await replayMutated({
    file: 'src/core/domain/tool-calls.ts',
    find: "not found in agent's tool list",
    replace: 'is none of yours',
  });
  expect(Object.values(verdicts).filter(({ type }) => type !== 'ok')).toEqual([]);
}, 120_000);
