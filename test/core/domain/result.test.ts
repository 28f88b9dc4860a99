import { describe, expect, it } from 'vitest';
import { newRunResult } from './new-run-result.ts';
import { ProgramResult, RunResult, type RunResultFields } from '../../../src/core/domain/result.ts';
import { newStep } from '../../../src/core/domain/tool-calls.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import type { ProgramStepResult, UnitResult } from '../../../src/core/domain/program-run.ts';

const fields: RunResultFields = {
  version: 1,
  runId: 'run-1',
  agentName: 'bot',
  output: 'The answer.',
  status: 'completed',
  stopReason: 'final_answer',
  stepsUsed: 2,
  usage: { ...noUsage(), promptTokens: 100, completionTokens: 50, totalTokens: 150, llmCalls: 2 },
  toolCallsTotal: 3,
  toolCallsByName: { search: 2, calc: 1 },
  startTime: '2026-01-01T00:00:00.000Z',
  endTime: '2026-01-01T00:00:02.500Z',
  durationSeconds: 2.5,
  error: null,
  limits: { steps: 10 },
};

describe('the summary', () => {
  it('is one line with the tools in the order of first use', () => {
    expect(new RunResult(fields).summary()).toBe('[completed] bot | 2/10 steps | 3 tool calls (searchx2, calcx1) | 150 tokens | 2.50s');
  });

  it('has the same words for one tool call and one step', () => {
    const one = { toolCallsTotal: 1, toolCallsByName: { search: 1 }, stepsUsed: 1, limits: { steps: 1, finalAttempt: false } };
    expect(new RunResult({ ...fields, ...one }).summary()).toContain('| 1/1 steps | 1 tool calls (searchx1) |');
  });

  it.each([
    [12.3456, '12.35s'],
    [0, 'n/a'],
    [null, 'n/a'],
  ])('writes a duration of %s as %s', (durationSeconds, shown) => {
    expect(newRunResult({ runId: 'r', agentName: 'bot', durationSeconds }).summary()).toBe(
      `[completed] bot | 0/0 steps | 0 tool calls (none) | 0 tokens | ${shown}`,
    );
  });

  it('names the kinds of content if media are among them', () => {
    const output = [
      { type: 'video' as const, url: 'u', format: 'mp4' },
      { type: 'text' as const, text: 'see' },
      { type: 'audio' as const, url: 'u', format: 'wav' },
    ];
    expect(newRunResult({ runId: 'r', agentName: 'bot', output }).summary()).toMatch(/ \| media: audio\+text\+video$/);
    expect(newRunResult({ runId: 'r', agentName: 'bot', output: 'text' }).summary()).not.toContain('media');
  });
});

describe('the multi-line form', () => {
  it('has a line for each field', () => {
    expect(String(new RunResult(fields))).toMatchInlineSnapshot(`
      "Run:      run-1
      Agent:    bot
      Status:   completed
      Steps:    2/10
      Tools:    3 (searchx2, calcx1)
      Tokens:   150 (prompt=100, completion=50)
      Duration: 2.50s
      Output:   The answer."
    `);
  });

  it('cuts the output after 120 whole characters and has the error', () => {
    const text = String(new RunResult({ ...fields, output: '😀'.repeat(121), status: 'error', stopReason: 'error', error: 'api down' }));
    expect(text).toContain(`Output:   ${'😀'.repeat(120)}...`);
    expect(text).toContain('Error:    api down');
  });

  it('says who stopped the run', () => {
    const text = String(new RunResult({ ...fields, status: 'cancelled', stopReason: 'cancelled', cancelReason: 'too expensive' }));
    expect(text).toContain('Status:   cancelled');
    expect(text).toContain('Reason:   too expensive');
    expect(text).not.toContain('Archive:');
  });

  it('names the events that are not in the archive', () => {
    const notArchived = [
      { from: 0, through: 8, message: 'gone' },
      { from: 20, through: 21, message: 'gone' },
    ];
    const lacking = new RunResult({ ...fields, notArchived });
    expect(String(lacking)).toContain('Archive:  lacks events 0 to 7, event 20');
    expect(lacking.toJSON()).toMatchObject({ notArchived });
  });
});

describe('the JSON form', () => {
  it('survives JSON and has the derived fields', () => {
    const json = JSON.parse(JSON.stringify(new RunResult({ ...fields, steps: [newStep(1)] }))) as Record<string, unknown>;
    expect(json).toEqual({
      ...fields,
      steps: [newStep(1)],
      success: true,
      outputText: 'The answer.',
      hasMedia: false,
      mediaTypes: ['text'],
      maxIterations: 10,
    });
  });

  it('leaves out the steps if they were not requested', () => {
    expect('steps' in new RunResult(fields).toJSON()).toBe(false);
  });
});

describe('success', () => {
  it.each([
    ['completed', true],
    ['max_iterations_reached', false],
    ['limit_reached', false],
    ['error', false],
    ['cancelled', false],
  ] as const)('for status %s is %s', (status, success) => {
    expect(newRunResult({ runId: 'r', agentName: 'bot', status }).success).toBe(success);
  });
});

describe('a result built from a name alone', () => {
  it('is completed and empty', () => {
    expect(newRunResult({ runId: 'r', agentName: 'bot' }).toJSON()).toEqual({
      version: 1,
      runId: 'r',
      agentName: 'bot',
      output: '',
      outputText: '',
      hasMedia: false,
      mediaTypes: [],
      status: 'completed',
      stopReason: 'final_answer',
      success: true,
      steps: [],
      stepsUsed: 0,
      usage: noUsage(),
      toolCallsTotal: 0,
      toolCallsByName: {},
      startTime: null,
      endTime: null,
      durationSeconds: null,
      error: null,
      limits: { steps: 0 },
      maxIterations: 0,
    });
  });
});

const step = (name: string, more: Partial<ProgramStepResult> = {}): ProgramStepResult => ({
  name,
  kind: 'ask',
  status: 'completed',
  attempts: 1,
  ...more,
});

const units: UnitResult[] = [
  { name: 'read', status: 'completed', steps: [step('A'), step('B', { attempts: 3 }), step('C', { reused: true, attempts: 0 })] },
  { name: 'write', status: 'failed', steps: [step('D', { status: 'failed', attempts: 2 }), step('E', { status: 'skipped', attempts: 0 })] },
  { name: 'send', status: 'skipped', reason: 'it needs unit "write", which failed', steps: [] },
];

function resultOf(more: Partial<ConstructorParameters<typeof ProgramResult>[0]> = {}): ProgramResult<unknown> {
  const usage = { ...noUsage(), promptTokens: 100, completionTokens: 50, totalTokens: 150, llmCalls: 6 };
  const { version, ...given } = newRunResult({ runId: 'r', agentName: 'letters | drafts', durationSeconds: 2.5 });
  return new ProgramResult<unknown>({ ...given, version, status: 'error', usage, units, ...more } as never);
}

describe('the summary of a program', () => {
  it('counts units and steps by their state, and attempts, calls and tokens', () => {
    expect(resultOf().summary()).toBe(
      '[error] letters | drafts | units: 1 completed, 1 failed, 1 skipped | steps: 2 completed, 1 reused, 1 failed, 1 skipped | 6 attempts | 6 model calls | 0 tool calls (none) | 150 tokens | 2.50s',
    );
  });

  it('says that the result holds no more units or steps', () => {
    expect(resultOf({ unitsCut: true }).summary()).toContain('1 skipped and more | 6 attempts');
    expect(resultOf({ units: [] }).summary()).toContain('| units: none | steps: none | 0 attempts |');
  });

  it('has the same counts in its multi-line form', () => {
    expect(String(resultOf()).split('\n')).toEqual(
      expect.arrayContaining([
        'Units:    1 completed, 1 failed, 1 skipped',
        'Steps:    2 completed, 1 reused, 1 failed, 1 skipped (6 attempts)',
        'Calls:    6',
      ]),
    );
  });
});
