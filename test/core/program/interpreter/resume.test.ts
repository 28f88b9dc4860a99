import { describe, expect, it } from 'vitest';
import { earlierRun } from '../../../../activities/programs/resolve-program.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import type { ProgramDocument, StepDocument } from '../../../../src/core/domain/program-document.ts';
import { fromProblem } from '../../../../src/core/program/check/check-from.ts';
import { type FakeProgram, type FakeProgramRun, runFakeProgram } from './fake-program.ts';

const ask = (name: string, prompt = name): StepDocument => ({ name, ask: { prompt } });

function programOf(...steps: StepDocument[]): ProgramDocument {
  return { version: 1, name: 'p', model: 'p/m', units: [{ name: 'u', steps }] };
}

interface Resumed extends Omit<FakeProgram, 'document' | 'answer'> {
  document: ProgramDocument;
  /** The edited program of the second run. Default: the same. */
  edited?: ProgramDocument;
  /** The input of the second run. Default: the same. */
  input: JsonObject;
  editedInput?: JsonObject;
  /** The steps that fail in the first run. */
  failing?: string[];
  store?: Map<string, JsonValue>;
  /** What follows in each output of the first run. Default: nothing. */
  suffix?: string;
}

/** Runs a program, and then resumes it: returns the model calls of the second run, and the run itself. */
async function resumed({
  document,
  edited = document,
  input,
  editedInput = input,
  failing = [],
  store = new Map<string, JsonValue>(),
  resumeFrom,
  suffix = '',
  ...more
}: Resumed): Promise<{ asked: string[]; again: FakeProgramRun }> {
  const first = await runFakeProgram({
    ...more,
    document,
    input,
    store,
    answer: ({ address }) => (failing.includes(address) ? undefined : `first ${address}${suffix}`),
  });
  const earlier = await earlierRun('earlier', first.program, ({ id }) => Promise.resolve(store.get(id) ?? null));
  const again = await runFakeProgram({
    document: edited,
    input: editedInput,
    earlier: JSON.parse(JSON.stringify(earlier)) as typeof earlier,
    answer: ({ address }) => `second ${address}`,
    ...(resumeFrom === undefined ? {} : { resumeFrom }),
  });
  return { asked: again.calls.filter((call) => call.startsWith('+')), again };
}

describe('a `forEach` whose run is resumed', () => {
  const each = (steps: StepDocument[], more: JsonObject = {}): StepDocument => ({
    name: 'Each',
    forEach: { in: '{{input.items}}', atOnce: 1, steps, ...more },
  });
  const document = programOf(each([ask('Look', '{{item}}'), ask('One', '{{Look}}')]), ask('End', '{{Each}}'));
  const input = { items: [0, 1, 2, 3] };

  it('pays only for the items that had not ended', async () => {
    const { asked, again } = await resumed({ document, input, failing: ['u.One[2]'] });
    // The first step of the failed item has completed too.
    expect(asked).toEqual(['+u.One[2]#1', '+u.Look[3]#1', '+u.One[3]#1', '+u.End#1']);
    expect(again.inputs['u.End#1']).toEqual({ 'u.Each': ['first u.One[0]', 'first u.One[1]', 'second u.One[2]', 'second u.One[3]'] });
    const ends = again.events.flatMap(({ step }) => (step?.type === 'end' && step.reused ? [step.at] : []));
    expect(ends).toEqual(['u.One[0]', 'u.One[1]', 'u.Look[2]']);
  });

  it('does so although the first run has continued as new after its failure', async () => {
    const items = { name: 'u', needs: [], steps: [each([ask('One', '{{item}}')])] };
    const others = { name: 'v', needs: [], steps: [ask('A'), ask('B'), ask('C'), ask('D')] };
    const twoUnits: ProgramDocument = { version: 1, name: 'p', model: 'p/m', units: [items, others] };
    const { asked } = await resumed({ document: twoUnits, input, failing: ['u.One[1]'], continueDue: () => true });
    expect(asked).toEqual(['+u.One[1]#1', '+u.One[2]#1', '+u.One[3]#1']);
  });

  it('pays only for items that are new or have changed', async () => {
    const { asked, again } = await resumed({ document, input, editedInput: { items: [0, 'new', 2, 3, 4] } });
    expect(asked).toEqual(['+u.Look[1]#1', '+u.One[1]#1', '+u.Look[4]#1', '+u.One[4]#1', '+u.End#1']);
    const list = ['first u.One[0]', 'second u.One[1]', 'first u.One[2]', 'first u.One[3]', 'second u.One[4]'];
    expect(again.inputs['u.End#1']).toEqual({ 'u.Each': list });
  });

  it('pays for all items if a step of it was edited', async () => {
    const edited = programOf(each([ask('Look', 'see {{item}}'), ask('One', '{{Look}}')]), ask('End', '{{Each}}'));
    const { asked } = await resumed({ document, edited, input, failing: ['u.One[2]'] });
    expect(asked).toHaveLength(9);
  });

  it('pays for no item if only the number of items at once has changed, also of a `forEach` in a block', async () => {
    const inner = each([ask('One', '{{item}}')]);
    const wide = each([ask('One', '{{item}}')], { atOnce: 4 });
    const inBlock = (step: StepDocument): ProgramDocument => programOf({ name: 'Both', parallel: { branches: [[step]] } }, ask('End'));
    expect((await resumed({ document: programOf(inner), edited: programOf(wide), input })).asked).toEqual([]);
    expect((await resumed({ document: programOf(inner), edited: programOf(wide), input, failing: ['u.One[3]'] })).asked).toHaveLength(1);
    expect((await resumed({ document: inBlock(inner), edited: inBlock(wide), input, failing: ['u.End'] })).asked).toEqual(['+u.End#1']);
  });

  it('pays for all items if another value that it refers to has changed', async () => {
    const toned = programOf(each([ask('One', '{{item}} {{input.tone}}')]), ask('End', '{{Each}}'));
    const { asked } = await resumed({ document: toned, input: { ...input, tone: 'dry' }, editedInput: { ...input, tone: 'warm' } });
    expect(asked).toHaveLength(5);
  });

  it('reuses the items of a long list', async () => {
    const long = programOf(each([ask('One', '{{item}}')]));
    const items = Array.from({ length: 2_000 }, (_, index) => index);
    const { asked, again } = await resumed({ document: long, input: { items }, failing: ['u.One[1999]'] });
    expect(asked).toEqual(['+u.One[1999]#1']);
    expect(again.result.status).toBe('completed');
  });
});

describe('a `repeat` whose run is resumed', () => {
  const round: StepDocument = {
    name: 'Polish',
    repeat: { until: { of: 'Two', is: { const: 'second u.Two[2]' } }, atMost: 5, steps: [ask('One'), ask('Two', '{{One}}')] },
  };

  it('begins with the round that failed', async () => {
    const { asked } = await resumed({ document: programOf(round), input: {}, failing: ['u.Two[2]'] });
    expect(asked).toEqual(['+u.Two[2]#1']);
  });

  it('begins with the first round if the run starts again from a step inside it', async () => {
    const { asked } = await resumed({ document: programOf(round), input: {}, failing: ['u.Two[2]'], resumeFrom: 'u.One' });
    expect(asked.slice(0, 2)).toEqual(['+u.One[0]#1', '+u.Two[0]#1']);
  });
});

describe('a block whose run is resumed', () => {
  const inner = (name: string, prompt: string): StepDocument => ({
    name: 'Both',
    parallel: { branches: [[ask(name, prompt)], [ask('R')]] },
  });

  it('runs again if a field of the input has changed that is named like a step inside it', async () => {
    const document = programOf(inner('ticket', 'About {{input.ticket}}'));
    const { asked } = await resumed({ document, input: { ticket: 'one' }, editedInput: { ticket: 'two' } });
    expect(asked).toContain('+u.ticket#1');
  });

  it('runs again if a step of another unit has another output that is named like a step inside it', async () => {
    const documentWith = (prompt: string): ProgramDocument => ({
      version: 1,
      name: 'p',
      model: 'p/m',
      units: [
        { name: 'read', steps: [ask('Sum', prompt)] },
        { name: 'u', steps: [inner('Sum', 'Of {{read.Sum}}')] },
      ],
    });
    const { asked } = await resumed({ document: documentWith('short'), edited: documentWith('long'), input: {} });
    expect(asked).toContain('+u.Sum#1');
  });

  it('reuses the outputs of its steps for those after it that name them', async () => {
    const until = { of: 'Two', is: { const: 'first u.Two[2]' } };
    const document = programOf(
      {
        name: 'Both',
        parallel: { branches: [[ask('L')], [{ name: 'Rounds', repeat: { until, atMost: 9, steps: [ask('One'), ask('Two')] } }]] },
      },
      { name: 'Skipped', when: { of: 'input.none', is: {} }, parallel: { branches: [[ask('Never')]] } },
      ask('Use', '{{L}}, {{One}}, {{Two}}, {{Rounds}} {{Never}}'),
    );
    const { asked, again } = await resumed({ document, input: {}, failing: ['u.Use'] });
    expect(asked).toEqual(['+u.Use#1']);
    const rounds = { 'u.One[2]': 'first u.One[2]', 'u.Two[2]': 'first u.Two[2]', 'u.Rounds': 'first u.Two[2]' };
    expect(again.inputs['u.Use#1']).toEqual({ 'u.L': 'first u.L', ...rounds });
  });

  it('is reused if only its own steps refer to one another, also with the name of their unit', async () => {
    const steps = [ask('Sum'), ask('Next', '{{Sum}} {{u.Sum}}')];
    const { asked } = await resumed({ document: programOf({ name: 'Both', parallel: { branches: [steps] } }), input: {} });
    expect(asked).toEqual([]);
  });
});

describe('a step with a fallback whose run is resumed', () => {
  const falls: StepDocument = { ...ask('Long'), refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Short' } };
  const document = programOf(falls, ask('Short'), ask('Use', '{{Long}}'));
  const edited = programOf(falls, ask('Short', 'Short, in one line'), ask('Use', '{{Long}}'));

  it('keeps the output of the same fallback', async () => {
    expect((await resumed({ document, input: {}, failing: ['u.Long'] })).asked).toEqual([]);
  });

  it('runs again if the fallback that it took was edited', async () => {
    const { asked } = await resumed({ document, edited, input: {}, failing: ['u.Long'] });
    expect(asked).toEqual(['+u.Long#1', '+u.Short#1', '+u.Use#1']);
  });

  it('keeps its own output if a fallback that it did not take was edited', async () => {
    expect((await resumed({ document, edited, input: {} })).asked).toEqual(['+u.Short#1']);
  });
});

describe('a step whose output the earlier run dropped when it continued as new', () => {
  // Outputs over 200 bytes that nothing refers to are dropped.
  const dropped = { input: {}, continueDue: () => true, suffix: 'x'.repeat(300) };
  const document = programOf(ask('Send'), ask('Next'), ask('Use'));

  it('is reused without its output if no step refers to it', async () => {
    const { asked, again } = await resumed({ ...dropped, document, failing: ['u.Use'] });
    expect(asked).toEqual(['+u.Use#1']);
    const [unit] = again.result.units ?? [];
    expect(unit?.steps[0]).toMatchObject({ name: 'Send', status: 'completed', reused: true, outputCut: true });
    expect(again.result.status).toBe('completed');
  });

  it('is reused if the steps that refer to it are reused too', async () => {
    const sizes: Record<string, number> = { 'u.Send': 900_000, 'u.Next': 300_000 };
    const units = [
      { name: 'u', steps: [ask('Send'), ask('Next', '{{Send}}')] },
      { name: 'v', steps: [ask('Read', '{{u.Next}}'), ask('Use')] },
    ];
    const both: ProgramDocument = { version: 1, name: 'p', model: 'p/m', units };
    const answer = ({ address }: { address: string }): string | undefined =>
      address === 'v.Use' ? undefined : 'x'.repeat(sizes[address] ?? 1);
    const first = await runFakeProgram({ document: both, answer, continueDue: () => true });
    expect(first.program.steps.get('u.Send')?.outputForgotten).toBe(true);
    const earlier = await earlierRun('earlier', first.program, () => Promise.resolve('x'));
    const again = await runFakeProgram({ document: both, earlier, answer: () => 'again' });
    expect(again.calls.filter((call) => call.startsWith('+'))).toEqual(['+v.Use#1']);
  });

  it('is never run again silently: a run whose steps need the output is refused before any step, with what to do', async () => {
    const edited = programOf(ask('Send'), ask('Next'), ask('Use', '{{Send}}'));
    const { asked, again } = await resumed({ ...dropped, document, edited });
    expect(asked).toEqual([]);
    expect(again.result).toMatchObject({
      status: 'error',
      errorCode: 'invalid_input',
      error:
        'Run "earlier" cannot be resumed here: its step "u.Send" has completed, but its output was too large to keep, and step "u.Use" refers ' +
        'to it. Resume from "u.Send" ("from") to run it and all later steps again, with their effects, or remove the reference',
    });
  });

  it.each([
    [
      'the output of the program',
      { ...programOf(ask('Send'), ask('Next'), ask('Use')), output: '{{u.Send}}' },
      'the output of the program',
    ],
    [
      'a unit that begins again',
      { ...document, units: [...document.units, { name: 'v', when: { of: 'u.Send', is: {} }, steps: [ask('W')] }] },
      'unit "v"',
    ],
    [
      'a block that runs again',
      programOf(ask('Send'), ask('Next'), { name: 'B', parallel: { branches: [[ask('I', '{{Send}}')]] } }),
      'step "u.I"',
    ],
  ])('is refused if %s needs it', async (_, edited: ProgramDocument, by) => {
    const { asked, again } = await resumed({ ...dropped, document, edited });
    expect(asked).toEqual([]);
    expect(again.result.error).toContain(`and ${by} refers to it`);
  });

  it('runs again, as does everything after it, if the run resumes from it', async () => {
    const edited = programOf(ask('Send'), ask('Next'), ask('Use', '{{Send}}'));
    const { asked } = await resumed({ ...dropped, document, edited, resumeFrom: 'u.Send' });
    expect(asked).toEqual(['+u.Send#1', '+u.Next#1', '+u.Use#1']);
  });

  it('fails the step that needs it, before it acts, if only the values of this run show that the output is needed', async () => {
    const steps = (pick: string, use: string): ProgramDocument => programOf(ask('Pick', pick), ask('Send', '{{Pick}}'), ask('Use', use));
    const answer = ({ address }: { address: string }): string => (address === 'u.Send' ? 'x'.repeat(300) : address);
    const first = await runFakeProgram({ document: steps('one', 'no'), answer, continueDue: () => true });
    const earlier = await earlierRun('earlier', first.program, () => Promise.resolve(null));
    const again = await runFakeProgram({ document: steps('two', '{{Send}}'), earlier, answer });
    expect(again.calls.filter((call) => call.startsWith('+'))).toEqual(['+u.Pick#1']);
    expect(again.result.error).toContain(
      'Step "u.Use" lacks an output that it refers to: the earlier run completed step "u.Send", but its output was too large to keep. ' +
        'Resume from "u.Send" ("from") to run it and all later steps again, with their effects',
    );
  });

  it('is an item of a `forEach` too', async () => {
    const each: StepDocument = { name: 'Each', forEach: { in: '{{input.items}}', atOnce: 1, steps: [ask('One', '{{item}}')] } };
    const items = programOf(each, ask('End'));
    const given = { ...dropped, document: items, input: { items: [0, 1, 2] }, failing: ['u.One[2]'] };
    expect((await resumed(given)).asked).toEqual(['+u.One[2]#1', '+u.End#1']);
    expect((await resumed({ ...given, failing: ['u.End'] })).asked).toEqual(['+u.End#1']);
    expect((await resumed({ ...given, failing: ['u.End'], editedInput: { items: [0, 1, 2, 3] } })).asked).toEqual([
      '+u.One[3]#1',
      '+u.End#1',
    ]);
    const edited = programOf(each, ask('End', '{{Each}}'));
    const refused = await resumed({ ...given, edited });
    expect(refused.asked).toEqual([]);
    expect(refused.again.result.error).toContain('its step "u.Each"');
  });
});

describe('a lenient program whose run is resumed', () => {
  it('reuses a step that refers to one that had not run yet', async () => {
    const steps = [ask('Early', 'before {{Late}}'), ask('Late'), ask('End')];
    const document: ProgramDocument = { ...programOf(...steps), lenient: true };
    expect((await resumed({ document, input: {}, failing: ['u.End'] })).asked).toEqual(['+u.End#1']);
  });
});

describe('a run that resumes from a step', () => {
  it('runs the step again if it is inside a block that has completed, and reuses the steps before it', async () => {
    const both: StepDocument = { name: 'Both', parallel: { branches: [[ask('L'), ask('M')], [ask('R')]] } };
    const { asked } = await resumed({ document: programOf(ask('First'), both, ask('End')), input: {}, resumeFrom: 'u.M' });
    expect(asked.toSorted()).toEqual(['+u.End#1', '+u.M#1', '+u.R#1']);
  });

  it('runs the step again in each item', async () => {
    const each: StepDocument = { name: 'Each', forEach: { in: '{{input.items}}', steps: [ask('One', '{{item}}')] } };
    const { asked } = await resumed({ document: programOf(ask('First'), each), input: { items: [1, 2] }, resumeFrom: 'u.One' });
    expect(asked).toEqual(['+u.One[0]#1', '+u.One[1]#1']);
  });
});

describe('a step to resume from that the program does not have', () => {
  const document = programOf(ask('First'), { name: 'Both', parallel: { branches: [[ask('Inner')]] } });

  it.each(['u.First', 'u.Both', 'u.Inner'])('%s is one that it has', (from) => {
    expect(fromProblem(document, from)).toBeUndefined();
  });

  it.each([
    ['u.Frist', 'The run cannot resume from "u.Frist": program "p" has no such step. Did you mean "u.First"?'],
    ['u.Iner', 'The run cannot resume from "u.Iner": program "p" has no such step. Did you mean "u.Inner"?'],
    ['elsewhere', 'The run cannot resume from "elsewhere": program "p" has no such step: name one of its steps, as <unit>.<step>'],
  ])('%s is refused with what to write instead', (from, problem) => {
    expect(fromProblem(document, from)).toBe(problem);
  });
});
