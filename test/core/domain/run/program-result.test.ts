import { describe, expect, it } from 'vitest';
import { noUsage } from '../../../../src/core/domain/usage.ts';
import type { ProgramStepResult, UnitResult } from '../../../../src/core/domain/program-run.ts';
import { ProgramResult } from '../../../../src/core/domain/result.ts';
import { newRunResult } from './new-run-result.ts';

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
  const { version, ...fields } = newRunResult({ runId: 'r', agentName: 'letters | drafts', durationSeconds: 2.5 });
  return new ProgramResult<unknown>({ ...fields, version, status: 'error', usage, units, ...more } as never);
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
