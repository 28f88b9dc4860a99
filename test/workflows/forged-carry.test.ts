import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerQuery, QUERY_KINDS } from '../../src/core/queries/queries.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { isTerminal } from '../../src/core/domain/run/status.ts';
import { closeRun } from '../../src/core/loop/endings/close-run.ts';
import type { RunPorts } from '../../src/core/loop/ports.ts';
import { quietPorts } from '../core/loop/fakes/quiet-ports.ts';
import { runLoop } from '../../src/core/loop/run-loop.ts';
import { type CheckedStart, checkStart } from '../../workflows/run/start.ts';
import { currentDetails } from '../../workflows/visibility/current-details.ts';
import { call, called, returned, said } from '../core/loop/fakes/fake-ports.ts';
import { callingCodeCarry, runningCodeCarry } from '../core/wire-schemas/forged-code-carry.ts';
import { changedAt, HOSTILE, idleCarry, NOW, type Path, placesIn, waitingCarry } from '../core/wire-schemas/forged-carry.ts';

function started(carry: JsonValue, isContinued = true): CheckedStart {
  return checkStart({ carry }, { runId: 'run-1', startedAt: NOW, isContinued });
}

/** The reason why a carried state is refused, or "taken". */
function refusal(carry: JsonValue): string {
  const checked = started(carry);
  return checked.ok ? 'taken' : `${checked.code}: ${checked.problem}`;
}

const AT = (path: string, value: JsonValue): JsonValue => changedAt(waitingCarry(), keysOf(path), value);

function keysOf(path: string): Path {
  return path.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}

describe('a carried state', () => {
  test('that a run has written is accepted if its execution continues another', () => {
    expect(refusal(waitingCarry())).toBe('taken');
    expect(refusal(idleCarry())).toBe('taken');
    expect(refusal(callingCodeCarry())).toBe('taken');
    expect(refusal(runningCodeCarry())).toBe('taken');
  });

  test('is refused in a first execution, even if it is valid', () => {
    expect(started(waitingCarry(), false)).toMatchObject({
      ok: false,
      code: 'invalid_input',
      problem: expect.stringContaining('this is a first execution: start it with {"agent", "input"}') as string,
    });
  });

  test.each<[string, JsonValue]>([
    ['currentStep', 1e300],
    ['currentStep', 0.5],
    ['executions', 2 ** 53],
    ['startedAt', -1],
    ['startedAt', 9e15],
    ['startedAt', NOW + 10 ** 9],
    ['usage.totalTokens', -1],
    ['loadedSkills.0', 1],
    ['uncheckedFrom', -1],
    ['principal.user', 7],
    ['snapshot.guardrails.0.type', 'tool'],
    ['recallDue', 'yes'],
    ['snapshot.skills.0.allowedTools', 'search'],
    ['snapshot.memory.recall.topK', 0],
    ['snapshot.memory.tools', false],
    ['snapshot.tools.4.ofMemory', false],
    ['usage.costUsd', JSON.parse('1e999') as number],
    ['usage.cacheWriteTokens', 0.5],
    ['measured.tokens', 'many'],
    ['toolCallsTotal', 4],
    ['seenEvents', 4],
    ['outputRetries', 1e300],
    ['toolCallsByName.0.1', -3],
    ['toolCallsStarted.0', ['search', 'often']],
    ['modelRetries.0.1', 1.5],
    ['window.through', 2],
    ['window.events.1.offset', 1.5],
    ['window.events.1.offset', 0],
    ['window.events.1.id', 'event-0'],
    ['window.events.1.content.1.arguments', 'all of it'],
    ['window.events.1.content.1.type', 'shout'],
    ['window.bytes', -400],
    ['position.response.id', 'event-9'],
    ['position.response.verdict.anchors.passed', 'yes'],
    ['position.response.verdict.violations.0.severity', 'whim'],
    ['position.outcomes', [null, null, null]],
    ['position.outcomes.1.durationMs', -1],
    ['position.outcomes.1.content', 'x'],
    ['snapshot.settings', null],
    ['snapshot.timing.modelTimeoutMs', -60_000],
    ['snapshot.timing.heartbeatMs', 0],
    ['snapshot.timing.modelMaxAttempts', 2 ** 31],
    ['snapshot.timing.modelPatienceMs', -1],
    ['snapshot.tools.0.timeoutMs', 1e300],
    ['snapshot.tools.0.maxAttempts', 0],
    ['snapshot.tools.1.backoff.factor', 0.5],
    ['snapshot.tools.1.backoff.maxMs', 1],
    ['snapshot.tools.1.name', 'pay'],
    ['snapshot.tools.0.label', 7],
    ['snapshot.tools.2.notExecutable', 'yes'],
    ['snapshot.tools.2.result', 'text'],
    ['snapshot.tools.2.callers', 'model'],
    ['snapshot.tools.2.updates', 'cart'],
    ['snapshot.tools.2.updates', [1]],
    ['snapshot.tools.2.callers.0', 'human'],
    ['snapshot.tools.3.agent.name', 7],
    ['snapshot.tools.3.agent.share', 'user'],
    ['snapshot.tools.3.agent.limits.totalTokens', -1],
    ['snapshot.tools.3.agent.final', 'yes'],
    ['snapshot.children.alive', 0],
    ['snapshot.children.depth', 0.5],
    ['children.0.runId', ''],
    ['children.0.index', -1],
    ['children.0.seenAt', 1e300],
    ['children.0.given.toolCalls', 'all'],
    ['children.0.runs', 2 ** 53],
    ['below.usage.llmCalls', 0.5],
    ['below.toolCalls', -1],
    ['below.runs', 'some'],
    ['snapshot.replyFormat', 'xml'],
    ['snapshot.handoffs.agents', 'b'],
    ['snapshot.handoffs.max', -1],
    ['snapshot.tools.3.handoff', 'yes'],
    ['snapshot.hooks.0.on', 'noon'],
    ['snapshot.hooks.0.timeoutMs', 1e300],
    ['position.response.rewrites.c1', 'all'],
    ['position.response.hooks.0.answer', 'perhaps'],
    ['hookRecords.0.hook', 7],
    ['handoffs.first', 7],
    ['handoffs.count', -1],
    ['handoffs.pinned.0.tools', 'all'],
    ['handoffs.pinned.0.limits.steps', 1e300],
    ['handoffs.usage.0.1.llmCalls', 'many'],
    ['handoffs.flow.kind', 'zigzag'],
    ['handoffs.flow.turn', -1],
    ['handoffs.flow.maxIterations', 1e300],
    ['snapshot.tools.0.taskQueue', ''],
    ['snapshot.tools.0.taskQueue', 'q'.repeat(1_001)],
    ['snapshot.limits.steps', 1e300],
    ['snapshot.window.keepResults', -1],
    ['snapshot.checks.step', ''],
    ['snapshot.checks.anchors', 'SafeOutput'],
    ['snapshot.checks.range.max', 'much'],
    ['limits.deadlineMs', 1e300],
    ['limits.toolCallsByName.pay', 1.5],
    ['approvals.pending.0.deadlineAt', 1e300],
    ['approvals.pending.0.kind', 'whim'],
    ['approvals.pending.0.at', 3],
    ['approvals.decided.0.by', 7],
    ['inbox.paused', 1],
    ['inbox.seenTurns.0.1', -1],
    ['inbox.messages.0.timestamp', 7],
    ['inbox.messages.0.content', { deep: true }],
    ['inbox.raises.0.limits.steps', 1e300],
    ['inbox.refused.0.message', null],
    ['lastStep', 'the last'],
    ['state', []],
  ])('with a forged %s is refused as invalid input', (path, value) => {
    expect(refusal(AT(path, value))).toMatch(/^invalid_input: The run cannot continue: /);
  });

  test.each<[string, JsonValue]>([
    ['position.cell', null],
    ['position.cell.index', 1],
    ['position.cell.index', 0.5],
    ['position.cell.spentMs', -1],
    ['position.cell.tools.outcomes', [null, null, null]],
    ['position.cell.tools.response.id', 'segment-1'],
    ['position.outcomes', [null, null, null]],
    ['position.response.id', 'event-1'],
    ['position.response.content', 'all'],
    ['code.calls', {}],
    ['code.calls.id', 'event-1'],
    ['code.journal.cells', []],
    ['code.journal.cells.1.moment.seed', 0.5],
    ['code.journal.cells.0.segments.0.digest', 1],
    ['code.journal.isLost', true],
    ['code.journalBytes', -1],
    ['code.records.0.isError', 'no'],
    ['snapshot.code.tier', 'near'],
    ['snapshot.code.injected', [1]],
    ['snapshot.code.prune.strategy', 'all'],
    ['snapshot.code.prune.keep', -1],
    ['snapshot.code.executor.kind', 'shell'],
    ['snapshot.code.executor.language', 'ruby'],
    ['snapshot.code.executor.limits.timeoutSeconds', 1e300],
    ['snapshot.code.executor.allowedImports', 'lib'],
    ['snapshot.code.executor.limits.maxMemoryMb', 0],
  ])('of a run in the middle of its code, with a forged %s is refused as invalid input', (path, value) => {
    expect(refusal(changedAt(callingCodeCarry(), keysOf(path), value))).toMatch(/^invalid_input: The run cannot continue: /);
  });

  test.each<[string, (carry: JsonObject) => JsonValue]>([
    ['approvals.pending', (carry) => AT('approvals.pending', twice(carry, 'approvals.pending'))],
    ['inbox.messages', (carry) => AT('inbox.messages', twice(carry, 'inbox.messages'))],
    ['inbox.raises', (carry) => AT('inbox.raises', twice(carry, 'inbox.raises'))],
    ['toolCallsStarted', (carry) => AT('toolCallsStarted', twice(carry, 'toolCallsStarted'))],
  ])('with one of %s twice is refused as invalid input', (_, forged) => {
    expect(refusal(forged(waitingCarry()))).toMatch(/^invalid_input: The run cannot continue: .* twice|^invalid_input: .* have the id/);
  });

  test('that is nested too deep is refused, without an overflow', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as JsonValue;
    expect(refusal(AT('state', { deep }))).toContain('carry: nested deeper than 64 levels');
  });
});

/** The list at the path, with its first element twice. */
function twice(carry: JsonObject, path: string): JsonValue {
  let list: JsonValue = carry;
  for (const key of keysOf(path)) list = (list as JsonObject)[key] ?? null;
  const [first = null] = list as JsonValue[];
  return [first, ...(list as JsonValue[])];
}

/** The queries that refuse a run of an agent, or need an argument. */
const NOT_FOR_EVERY_RUN: ReadonlySet<string> = new Set([
  'callArguments',
  'childInput',
  'decision',
  'hookedCalls',
  'hookedResult',
  'transcript',
  'trace',
  'stepValues',
  'program',
]);

/** The number of model calls after which a run counts as endless. */
const MANY = 60;

/** Runs an accepted carried state to the end of its run, as the workflow does. No caller answers: a run that waits is cancelled. */
async function end(checked: CheckedStart & { ok: true }): Promise<RunResultFields | 'continued'> {
  const { run, start } = checked;
  const { state } = run;
  if (state === undefined || start.type !== 'carry') throw new Error('there is no run');
  let isCancelled = false;
  let calls = 0;
  let waits = 0;
  const ports: RunPorts = {
    ...quietPorts(),
    inbox: run.inbox,
    now: () => NOW,
    uuid: () => `new-${state.window.through}`,
    callModel: () => {
      calls += 1;
      return Promise.resolve(calls > MANY ? { type: 'cancelled' } : calls < 3 ? called(call(`new-${calls}`, 'search')) : said('done'));
    },
    summarise: () => Promise.resolve({ type: 'summary', id: `summary-${calls}`, text: 'in short', usage: null }),
    runTool: () => Promise.resolve(returned('done')),
    cancelRequested: () => isCancelled,
    until: () => {
      waits += 1;
      isCancelled = true;
      return Promise.resolve();
    },
    recorded: (changed) => void currentDetails(changed, checked.run),
  };
  currentDetails(state, checked.run);
  const from = start.position.type === 'idle' ? undefined : start.position;
  const ended = await runLoop(state, ports, from).catch((error: unknown) => ({
    type: 'finished' as const,
    result: closeRun(state, ports, {
      status: 'error',
      stopReason: 'error',
      output: state.thought,
      error: { code: 'internal', message: errorMessage(error) },
    }),
  }));
  if (calls > MANY || waits > MANY) throw new Error(`the run made ${calls} calls and ${waits} waits`);
  for (const name of Object.keys(QUERY_KINDS) as (keyof typeof QUERY_KINDS)[]) {
    if (!NOT_FOR_EVERY_RUN.has(name)) answerQuery(run, name, undefined);
  }
  return ended.type === 'finished' ? ended.result : 'continued';
}

/** Starts an execution with the carried state; undefined if only a worker of another release can read it. */
function startedOf(carry: JsonValue): CheckedStart | undefined {
  try {
    return started(carry);
  } catch (error) {
    if (error instanceof Error && error.name === 'UnknownCarryVersion') return undefined;
    throw error;
  }
}

/** The verdict on a carried state: the code of its refusal, or the kind of ending of its run. */
async function verdictOn(carry: JsonValue): Promise<string> {
  const checked = startedOf(carry);
  if (checked === undefined) return 'a failed task';
  if (!checked.ok) return checked.code;
  const result = await end(checked);
  if (result === 'continued') return 'a truthful end';
  if (result.errorCode === 'internal' || !isTerminal(result.status)) return `${result.status}: ${result.error}`;
  const broken = numbersIn(result).find((one) => !Number.isFinite(one));
  return broken === undefined ? 'a truthful end' : `${broken} in the result`;
}

function numbersIn(value: object): number[] {
  return Object.values(value).flatMap((one: unknown) =>
    typeof one === 'object' && one !== null ? numbersIn(one) : typeof one === 'number' ? one : [],
  );
}

test('a carried state with a hostile value at any position is refused as invalid input, or its run has a valid ending', async () => {
  const forged = fc.constantFrom(waitingCarry(), idleCarry(), callingCodeCarry(), runningCodeCarry()).chain((carry) =>
    fc.record({
      carry: fc.constant(carry),
      path: fc.constantFrom(...placesIn(carry)),
      change: fc.option(fc.constantFrom(...HOSTILE), { nil: undefined }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(forged, async ({ carry, path, change }) => {
      const verdict = await verdictOn(changedAt(carry, path, change));
      expect(verdict).toMatch(path.join() === 'version' ? /^(invalid_input|a failed task)$/ : /^(invalid_input|a truthful end)$/);
    }),
    { numRuns: 2_000 },
  );
});
