import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../../../src/core/domain/json.ts';
import type { ProgramDocument, StepDocument } from '../../../../../src/core/domain/program-document.ts';
import type { EarlierRun, UnitResult } from '../../../../../src/core/domain/program-run.ts';
import { checkProgram } from '../../../../../src/core/program/check/check-program.ts';
import { type FakeProgram, type FakeProgramRun, runFakeProgram } from '../fake-program.ts';
import { propertyRuns } from '../../../../property-runs.ts';

const ask = (name: string, prompt = `do ${name}`): StepDocument => ({ name, ask: { prompt } });

/** A program that needs outputs in every place where the run itself resolves references. */
const DOCUMENT: ProgramDocument = {
  version: 1,
  name: 'p',
  model: 'p/m',
  units: [
    {
      name: 'read',
      steps: [
        ask('A'),
        ask('B', 'from {{A}}'),
        {
          name: 'Each',
          forEach: { in: 'input.items', atOnce: 2, steps: [ask('Note', 'note {{item}} {{A}}'), ask('Sum', 'sum {{Note}}')] },
        },
        { name: 'Both', parallel: { branches: [[ask('L')], [ask('R', 'after {{B}}'), ask('S')]] } },
        {
          name: 'Round',
          repeat: { atMost: 3, until: { of: 'Try', is: { const: 'never' } }, steps: [ask('Try', 'try {{B}}'), ask('Again', '{{Try}}')] },
        },
      ],
    },
    {
      name: 'write',
      persona: 'You know {{read.B}}.',
      when: { of: 'read.A', is: { type: 'string', minLength: 1 } },
      steps: [
        {
          name: 'Way',
          branch: {
            cases: [{ when: { of: 'read.Both', is: { type: 'array', minItems: 2 } }, steps: [ask('Yes', '{{read.Round}}')] }],
            else: [ask('No')],
          },
        },
        { name: 'Child', agent: { name: 'a', input: 'a letter about {{read.B}} and {{Way}}' } },
        { name: 'Tooled', ask: { prompt: 'with tools {{Way}}', tools: ['t'] }, refine: { maxAttempts: 2 } },
        { name: 'More', forEach: { in: '{{read.Each}}', as: 'sum', atOnce: 2, steps: [ask('Of', 'of {{sum}} and {{read.Each[0]}}')] } },
        { name: 'Late', when: { of: 'More', is: { type: 'array', minItems: 1 } }, ask: { prompt: 'late {{Child}}' } },
        { name: 'Hard', ask: { prompt: 'hard' }, refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Way' } },
        ask('End', '{{Hard}}'),
      ],
    },
  ],
  output: { a: '{{read.A}}', each: '{{read.Each[1]}}', hard: '{{write.Hard}}', rounds: '{{read.Round}}' },
};

const input = { items: ['x', 'y', 'z'] };

/** Answers each call with a distinct text, of the size that is chosen for its name. */
function answering(sizes: readonly number[]): FakeProgram['answer'] {
  return ({ address }) => {
    if (address === 'write.Hard') return undefined;
    const sum = Array.from(address, (character) => character.charCodeAt(0)).reduce((total, code) => total + code, 0);
    return `${address} ${'x'.repeat(sizes[sum % sizes.length] ?? 0)}`;
  };
}

function run(sizes: readonly number[], more: Partial<FakeProgram> = {}): Promise<FakeProgramRun> {
  return runFakeProgram({ document: DOCUMENT, input, answer: answering(sizes), ...more });
}

/** The results of steps, with what distinguishes their outputs. Outputs that `like` has cut or forgotten are left out. */
function comparable(units: readonly UnitResult[] | undefined, like: readonly UnitResult[] | undefined): unknown {
  return units?.map(({ name, status, error, steps }, unit) => ({
    name,
    status,
    error,
    steps: steps.map((one, index) => [
      one.name,
      one.status,
      one.attempts,
      like?.[unit]?.steps[index]?.outputCut === true
        ? undefined
        : JSON.stringify(one.output ?? null).replaceAll(/x{9,}/g, ({ length }) => `${length} x`),
    ]),
  }));
}

const often = (): boolean => true;

const SIZES = [[[300_000]], [[700_000, 2_000]], [[1_200_000, 10, 90_000]], [[150_000, 5_000, 450_000]]];

describe('a program with outputs over 1 MB that continues as new', () => {
  it('is accepted by the check', () => {
    expect(checkProgram(DOCUMENT).problems).toEqual([]);
  });

  it.each(SIZES.slice(0, propertyRuns(SIZES.length)))(
    'at every point gives its steps and children what it gives them in one execution, with outputs of %j characters',
    async (sizes) => {
      const whole = await run(sizes);
      const split = await run(sizes, { continueDue: often });
      expect(split.executions).toBeGreaterThan(10);
      expect(split.moved.some((move) => move.startsWith('+'))).toBe(true);
      expect(split.inputs).toEqual(whole.inputs);
      expect(split.result.output).toEqual(whole.result.output);
      expect(split.result).toMatchObject({ status: 'completed', stepsUsed: whole.result.stepsUsed });
    },
  );

  it('has the same results at any points and sizes', async () => {
    let stored = 0;
    const size = fc.oneof(fc.constantFrom(0, 500, 3_000), fc.integer({ min: 50_000, max: 500_000 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(size, { minLength: 2, maxLength: 7 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }),
        async (sizes, points) => {
          const whole = await run(sizes);
          let index = 0;
          const split = await run(sizes, { continueDue: () => points[index++ % points.length] ?? false });
          stored += split.moved.length;
          expect(split.inputs).toEqual(whole.inputs);
          expect(split.result.status).toBe('completed');
          expect(split.result.output).toEqual(whole.result.output);
          expect(comparable(split.result.units, split.result.units)).toEqual(comparable(whole.result.units, split.result.units));
        },
      ),
      {
        numRuns: propertyRuns(6),
        examples: [
          [
            [400_000, 90_000],
            [true, false],
          ],
        ],
      },
    );
    expect(stored).toBeGreaterThan(0);
  });

  it('stores no output twice, and loads none twice in one execution', async () => {
    const { moved } = await run([300_000], { continueDue: often });
    const stores = moved.filter((move) => move.startsWith('+') && !move.includes('.items')).map((move) => move.split(' ')[0]);
    expect(new Set(stores).size).toBe(stores.length);
    expect(new Set(moved).size).toBe(moved.length);
  });

  it('stores nothing up to 1 MB, and carries what earlier executions have loaded', async () => {
    const { moved, executions } = await run([30_000], { continueDue: often });
    expect(executions).toBeGreaterThan(10);
    expect(moved).toEqual([]);
  });
});

describe('the items of a forEach whose outputs are over 1 MB together', () => {
  const document: ProgramDocument = {
    version: 1,
    name: 'p',
    model: 'p/m',
    units: [
      {
        name: 'u',
        steps: [
          { name: 'Each', forEach: { in: 'input.items', atOnce: 2, steps: [ask('Note'), ask('Sum', '{{Note}}')] } },
          ask('All', 'all {{Each}}'),
          { name: 'Again', forEach: { in: '{{Each}}', as: 'one', atOnce: 3, steps: [ask('Of', 'of {{one}}')] } },
          ask('End', 'end {{Again[4]}}'),
        ],
      },
    ],
  };
  const program: FakeProgram = {
    document,
    input: { items: Array.from({ length: 6 }, (_, index) => index) },
    answer: ({ address }) => `${address} ${'x'.repeat(260_000)}`,
  };

  it('are stored execution by execution, and make the list at the end', async () => {
    const whole = await runFakeProgram(program);
    const split = await runFakeProgram({ ...program, continueDue: often });
    expect(split.result.status).toBe('completed');
    expect(split.inputs).toEqual(whole.inputs);
    expect(split.result.output).toEqual(whole.result.output);
    expect(split.moved.filter((move) => move.startsWith('+u.Each.items')).length).toBeGreaterThan(1);
  });
});

describe('a program that resumes an earlier run', () => {
  it('takes over a step whose inputs are equal, although they are only in the payload store', async () => {
    const steps = [ask('Big'), ask('Next'), ask('Between'), ask('Use', 'use {{Big}}'), ask('Last', '{{Use}} {{Next}}')];
    const document: ProgramDocument = { version: 1, name: 'p', model: 'p/m', units: [{ name: 'u', steps }] };
    const big = 'x'.repeat(600_000);
    const earlier: EarlierRun = {
      document,
      input: {},
      outputs: [
        ['u.Big', big],
        ['u.Use', 'as before'],
      ],
    };
    const answer: FakeProgram['answer'] = ({ address }) => (address === 'u.Next' ? big.slice(0, 500_000) : 'new');
    const same = await runFakeProgram({ document, answer, earlier, continueDue: often });
    expect(same.moved).toEqual(['+u.Big in 1', expect.stringContaining('-u.Big in 3')]);
    expect(same.inputs['u.Last#1']).toMatchObject({ 'u.Use': 'as before' });
    expect(same.calls.filter((call) => call.startsWith('+'))).toEqual(['+u.Next#1', '+u.Between#1', '+u.Last#1']);
  });
});

describe('a block to which nothing refers, and parts of whose output were dropped when the program continued as new', () => {
  const lists = { parallel: { branches: [[ask('One')], [ask('Two'), ask('Three')]] } };
  const blocks: [string, StepDocument][] = [
    ['forEach', { name: 'Block', forEach: { in: 'input.items', atOnce: 1, steps: [ask('One'), ask('Two')] } }],
    ['parallel', { name: 'Block', ...lists }],
    ['forEach around a parallel', { name: 'Block', forEach: { in: 'input.items', atOnce: 2, steps: [{ name: 'Inner', ...lists }] } }],
    ['parallel around a parallel', { name: 'Block', parallel: { branches: [[{ name: 'Inner', ...lists }], [ask('Four')]] } }],
  ];

  it.each(blocks)('ends without an output, not with null in the place of what was dropped: %s', async (_, block) => {
    const document: ProgramDocument = { version: 1, name: 'p', model: 'p/m', units: [{ name: 'u', steps: [block] }], output: 1 };
    const program: FakeProgram = { document, input, answer: () => 'x'.repeat(300) };
    const ends = ({ result }: FakeProgramRun): unknown => result.units?.[0]?.steps.find(({ name }) => name === 'Block');
    expect(JSON.stringify(ends(await runFakeProgram(program)))).not.toContain('null');
    const split = await runFakeProgram({ ...program, continueDue: often });
    expect(ends(split)).toMatchObject({ status: 'completed', outputCut: true });
    expect(ends(split)).not.toHaveProperty('output');
  });
});

describe('without a payload store, a program', () => {
  it('ends with the name of the step with the largest output, and what to do', async () => {
    const { result } = await run([700_000, 600_000], { continueDue: often, store: null });
    expect(result).toMatchObject({ status: 'error', errorCode: 'payload_too_large' });
    expect(result.error).toMatch(
      /The largest is the output of step "read\.\w+", with \d+ bytes: give createWorker a payload store \("payloadStore"\), or make it smaller$/,
    );
    expect(result.error).toContain('this worker has no payload store');
  });

  it('forgets outputs that only steps have named which have ended, instead of ending', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `S${index}`);
    const steps = names.map((name, index) => ask(name, index === 0 ? 'begin' : `after {{S${index - 1}}}`));
    const document: ProgramDocument = { version: 1, name: 'p', model: 'p/m', units: [{ name: 'u', steps }] };
    const { result, executions } = await runFakeProgram({
      document,
      answer: ({ address }) => `${address} ${'x'.repeat(400_000)}`,
      continueDue: often,
      store: null,
    });
    expect(executions).toBe(12);
    expect(result.status).toBe('completed');
    const cut = result.units?.[0]?.steps.map(({ outputCut = false }) => outputCut);
    expect(cut).toEqual(names.map((_, index) => index < 9));
  });
});

describe('an output that the payload store has lost', () => {
  it.each<[string, StepDocument, string]>([
    ['an agent', { name: 'Use', agent: { name: 'a', input: '{{Big}}' } }, 'Step "u.Use"'],
    ['a condition', { name: 'Use', when: { of: 'Big', is: {} }, ask: { prompt: 'x' } }, 'Step "u.Use"'],
    ['a list', { name: 'Use', forEach: { in: 'Big', steps: [ask('One')] } }, 'Step "u.Use"'],
    ['a question', { name: 'Use', human: { question: '{{Big}}' } }, 'Step "u.Use"'],
    ['a tool', { name: 'Use', tool: { name: 't', arguments: { text: '{{Big}}' } } }, 'Step "u.Use"'],
    ['a wait', { name: 'Use', sleep: { for: '{{Big}}' as never } }, 'Step "u.Use"'],
    ['what an approver is shown', { name: 'Use', approval: true, ask: { prompt: '{{Big}}' } }, 'Step "u.Use"'],
    ['a case', { name: 'Use', branch: { cases: [{ when: { of: 'Big', is: {} }, steps: [ask('One')] }] } }, 'Step "u.Use"'],
    ['a repetition', { name: 'Use', repeat: { atMost: 2, until: { of: 'Big', is: {} }, steps: [ask('One')] } }, 'Step "u.Use"'],
  ])('fails the step that needs it: %s', async (_, step, name) => {
    const document: ProgramDocument = {
      version: 1,
      name: 'p',
      model: 'p/m',
      units: [{ name: 'u', steps: [ask('Big'), ask('Next'), step] }],
      output: 'over',
    };
    const store = new Map<string, JsonValue>();
    store.set = () => store;
    const { result } = await runFakeProgram({ document, store, answer: () => 'x'.repeat(1_100_000), continueDue: often });
    expect(result).toMatchObject({ status: 'error', errorCode: 'spilled_unavailable' });
    expect(result.error).toContain(`${name} lacks an output that it refers to: Store "memory" has no "u.Big"`);
  });

  it('fails the unit whose condition names it', async () => {
    const document: ProgramDocument = {
      version: 1,
      name: 'p',
      model: 'p/m',
      units: [
        { name: 'u', steps: [ask('Big'), ask('Next')] },
        { name: 'v', when: { of: 'u.Big', is: {} }, steps: [ask('Last')] },
      ],
      output: 'over',
    };
    const store = new Map<string, JsonValue>();
    store.set = () => store;
    const { result } = await runFakeProgram({ document, store, answer: () => 'x'.repeat(1_100_000), continueDue: often });
    expect(result).toMatchObject({
      status: 'error',
      errorCode: 'spilled_unavailable',
      units: [{ status: 'completed' }, { status: 'failed' }],
    });
    expect(result.error).toContain('Unit "v" lacks an output that it refers to');
  });

  it('fails the run if its output names it', async () => {
    const document: ProgramDocument = {
      version: 1,
      name: 'p',
      model: 'p/m',
      units: [{ name: 'u', steps: [ask('Big'), ask('Next'), ask('Last')] }],
      output: '{{u.Big}}',
    };
    const store = new Map<string, JsonValue>();
    store.set = () => store;
    const { result } = await runFakeProgram({ document, store, answer: () => 'x'.repeat(1_100_000), continueDue: often });
    expect(result).toMatchObject({ status: 'error', errorCode: 'spilled_unavailable' });
    expect(result.error).toContain('The output of the program lacks an output');
  });
});

describe('the attempts of a step that has ended', () => {
  const document: ProgramDocument = {
    version: 1,
    name: 'p',
    model: 'p/m',
    units: [{ name: 'u', steps: [{ ...ask('Twice'), refine: { maxAttempts: 2 } }, ask('Once'), ask('End')] }],
  };
  const stepsOf = async (continueDue: () => boolean): Promise<unknown> => {
    const program: FakeProgram = {
      document,
      answer: ({ address, attempt }) => (address === 'u.Twice' && attempt === 1 ? undefined : 'text'),
    };
    const { result } = await runFakeProgram({ ...program, continueDue });
    return result.units?.[0]?.steps.map(({ name, attempts, attemptDetails, detailsCut }) => [
      name,
      attempts,
      attemptDetails?.length,
      detailsCut,
    ]);
  };

  it('are in its result', async () => {
    expect(await stepsOf(() => false)).toEqual([
      ['Twice', 2, 1, undefined],
      ['Once', 1, undefined, undefined],
      ['End', 1, undefined, undefined],
    ]);
  });

  it('are not carried into the next execution, and its result says so', async () => {
    expect(await stepsOf(often)).toEqual([
      ['Twice', 2, undefined, true],
      ['Once', 1, undefined, undefined],
      ['End', 1, undefined, undefined],
    ]);
  });
});
