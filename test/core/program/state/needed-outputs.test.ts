import { describe, expect, it } from 'vitest';
import type { ProgramDocument, StepDocument, UnitDocument } from '../../../../src/core/domain/program-document.ts';
import type { ProgramState, StepState } from '../../../../src/core/domain/program-run.ts';
import { namedOutputs, neededOutputs } from '../../../../src/core/program/stored-outputs.ts';

const ask = (name: string, prompt = 'do'): StepDocument => ({ name, ask: { prompt } });

/** The state of a program with these units after these steps and units have ended. */
function stateOf(units: UnitDocument[], ended: readonly string[], output?: string): Pick<ProgramState, 'document' | 'units' | 'steps'> {
  const document: ProgramDocument = { version: 1, name: 'p', units, ...(output === undefined ? {} : { output }) };
  const status = 'completed' as const;
  const step = (at: string): [string, StepState] => [at, { kind: 'ask', status, startedAt: 1, attempts: 1 }];
  return {
    document,
    units: new Map(ended.filter((at) => !at.includes('.')).map((name) => [name, { status, startedAt: 1 }])),
    steps: new Map(ended.filter((at) => at.includes('.')).map(step)),
  };
}

/** The steps that are needed, without those that the document does not have. */
function needed(units: UnitDocument[], ended: readonly string[], output = 'over'): string[] {
  return [...neededOutputs(stateOf(units, ended, output))].filter((name) => /^[uv]\.[A-Z]/.test(name)).toSorted();
}

describe('the output of a step', () => {
  const list: UnitDocument[] = [{ name: 'u', steps: [ask('A'), ask('B', '{{A}}'), ask('C', '{{B}}')] }];

  it('is needed while a step that names it has not ended', () => {
    expect(needed(list, ['u.A'])).toEqual(['u.A', 'u.B']);
    expect(needed(list, ['u.A', 'u.B'])).toEqual(['u.B']);
    expect(needed(list, ['u.A', 'u.B', 'u.C'])).toEqual([]);
  });

  it('is needed to the end if the output of the program names it, or is the output of the last step', () => {
    expect(needed(list, ['u', 'u.A', 'u.B', 'u.C'], '{{u.A}}')).toEqual(['u.A']);
    expect([...neededOutputs(stateOf(list, ['u', 'u.A', 'u.B', 'u.C']))]).toEqual(['u.C']);
  });

  it('is needed by the texts and the condition of a unit until that has ended, also if it has failed', () => {
    const units: UnitDocument[] = [
      { name: 'u', steps: [ask('A'), ask('B')] },
      { name: 'v', persona: 'You know {{u.A}}', when: { of: 'u.B', is: {} }, steps: [ask('C'), ask('D')] },
    ];
    expect(needed(units, ['u', 'u.A', 'u.B', 'v.C'])).toEqual(['u.A', 'u.B']);
    const failed = stateOf(units, ['u', 'u.A', 'u.B', 'v.C'], 'over');
    failed.units.set('v', { status: 'failed', startedAt: 1 });
    expect([...neededOutputs(failed)]).toEqual([]);
  });

  it.each<[string, StepDocument]>([
    ['forEach', { name: 'B', forEach: { in: 'input.items', steps: [ask('In', '{{A}}'), ask('Last')] } }],
    ['repeat', { name: 'B', repeat: { atMost: 3, until: { of: 'Last', is: {} }, steps: [ask('In', '{{A}}'), ask('Last')] } }],
  ])('is needed by the steps of a %s until the block has ended, whatever steps inside have', (_, block) => {
    const units: UnitDocument[] = [{ name: 'u', steps: [ask('A'), block, ask('C')] }];
    expect(needed(units, ['u.A', 'u.In[0]', 'u.Last[0]'])).toContain('u.A');
    expect(needed(units, ['u.A', 'u.B'])).toEqual([]);
  });

  it('is needed by the block that it is the output of, as long as that runs and is needed itself', () => {
    const block: StepDocument = { name: 'B', parallel: { branches: [[ask('L')], [ask('R')]] } };
    expect(needed([{ name: 'u', steps: [block, ask('C', '{{B}}')] }], ['u.L'])).toEqual(['u.B', 'u.L', 'u.R']);
    expect(needed([{ name: 'u', steps: [block, ask('C', '{{B}}')] }], ['u.L', 'u.R', 'u.B'])).toEqual(['u.B']);
    expect(needed([{ name: 'u', steps: [block, ask('C')] }], ['u.L'])).toEqual([]);
  });

  it('is needed by the step whose fallback it is', () => {
    const hard: StepDocument = { name: 'B', ask: { prompt: 'do' }, refine: { onExhaustion: 'fallback', fallback: 'A' } };
    const units: UnitDocument[] = [{ name: 'u', steps: [ask('A'), hard, ask('C')] }];
    expect(namedOutputs(stateOf(units, []).document).has('u.A')).toBe(true);
    expect(needed(units, ['u.A'])).toEqual(['u.A']);
    expect(needed(units, ['u.A', 'u.B'])).toEqual([]);
  });
});
