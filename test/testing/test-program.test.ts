import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  ask,
  branch,
  defineProgram,
  forEach,
  human,
  parallel,
  recall,
  remember,
  repeat,
  sleep,
  tool,
  unit,
} from '../../src/define/program/index.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import { inMemory } from '../../src/memory/file-memory.ts';
import { approve, failWith, reject, respond, say, scriptedModel, structured, testProgram } from '../../src/testing/index.ts';

const MODEL = 'scripted/model';

describe('a program', () => {
  test("records the provider's notes about a request in its attempt", async () => {
    const program = defineProgram({ name: 'one', model: MODEL, units: [unit('u', {}, [ask('A', 'Q')])] });
    const { capabilities, call } = scriptedModel([say('one')]);
    const warning = 'temperature is not supported';
    const model = { capabilities, call: async (...asked: Parameters<typeof call>) => ({ ...(await call(...asked)), warnings: [warning] }) };
    const { events } = await testProgram(program, { model });
    expect(events.flatMap(({ step }) => step?.warnings ?? [])).toEqual([warning]);
  });

  test('runs its units in order, and each step reads the outputs before it', async () => {
    const program = defineProgram({
      name: 'two',
      model: MODEL,
      input: z.object({ topic: z.string() }),
      units: [
        unit('first', { persona: 'You are brief.' }, [ask('A', 'About {{input.topic}}')]),
        unit('second', {}, [ask('B', 'See {{first.A}}')]),
      ],
    });
    const { result, requests, events } = await testProgram(program, {
      input: { topic: 'cats' },
      model: scriptedModel([say('one'), say('two')]),
    });
    expect(result).toMatchObject({ status: 'completed', error: null });
    expect(result.output).toBe('two');
    expect(requests.map(({ instructions, conversation }) => [instructions, conversation[0]?.content])).toEqual([
      [['You are brief.'], [{ type: 'message', role: 'user', content: 'About cats' }]],
      [[], [{ type: 'message', role: 'user', content: 'See one' }]],
    ]);
    expect(events.map(({ step }) => (step === undefined ? 'input' : `${step.at} ${step.type}`))).toEqual([
      'input',
      'first start',
      'first.A start',
      'first.A attempt',
      'first.A end',
      'first end',
      'second start',
      'second.B start',
      'second.B attempt',
      'second.B end',
      'second end',
    ]);
  });

  test('reads the outputs of the last round of each `repeat`, however many rounds the others had', async () => {
    const rounds = (name: string, atMost: number, last: string) =>
      repeat(name, { until: { of: last, is: { const: 'never' } }, atMost }, [ask(last, last)]);
    const program = defineProgram({
      name: 'rounds',
      model: MODEL,
      input: z.object({ items: z.array(z.string()) }),
      units: [
        unit('u', {}, [
          rounds('Twice', 2, 'Draft'),
          rounds('Thrice', 3, 'Title'),
          forEach('Each', '{{input.items}}', { atOnce: 1 }, [ask('Look', '{{item}}'), ask('Use', '{{Draft}}, {{Title}}, {{Look}}')]),
        ]),
      ],
    });
    const answers = ['draft 1', 'draft 2', 'title 1', 'title 2', 'title 3'];
    const items = ['a', 'b', 'c', 'd'];
    const { requests } = await testProgram(program, {
      input: { items },
      model: scriptedModel([...answers, ...items.flatMap((item) => [`look ${item}`, 'done'])].map((text) => say(text))),
    });
    const prompts = requests.map(({ conversation }) => JSON.stringify(conversation[0]?.content));
    for (const [index, item] of items.entries())
      expect(prompts[answers.length + 2 * index + 1]).toContain(`draft 2, title 3, look ${item}`);
  });

  test('asks again after a breach, with the failure in the prompt', async () => {
    const program = defineProgram({
      name: 'heal',
      model: MODEL,
      units: [unit('u', { anchors: ['NoHallucination'] }, [ask('A', 'q', { refine: { maxAttempts: 2, backoff: 'exponential' } })])],
    });
    const { result, requests } = await testProgram(program, { model: scriptedModel([say('I believe so'), say('Yes [1]')]) });
    expect(result.output).toBe('Yes [1]');
    expect(JSON.stringify(requests[1]?.conversation)).toContain('Hedging without citation: i believe');
  });

  const failures = [undefined, 'Hedging without citation: i believe', 'Hedging without citation: probably'].map((one) =>
    one === undefined ? undefined : (expect.stringContaining(one) as unknown),
  );

  test.each<[string, { passFailureContext?: boolean }, unknown[]]>([
    ['by itself, and at the end of the prompt', {}, failures],
    ['only if the step passes it on', { passFailureContext: false }, [undefined, undefined, undefined]],
  ])('passes the failure of the previous attempt to the model client, %s', async (_, options, expected) => {
    const refine = { maxAttempts: 3, ...options };
    const units = [unit('u', { anchors: ['NoHallucination'] }, [ask('A', 'q', { refine })])];
    const script = scriptedModel([say('I believe so'), say('Probably'), say('Yes [1]')]);
    const { requests } = await testProgram(defineProgram({ name: 'heal', model: MODEL, units }), { model: script });
    expect(requests.map(({ failureContext }) => failureContext)).toEqual(expected);
    const prompts = requests.map(({ conversation }) => conversation[0]?.content[0]);
    const contents = requests.map(({ failureContext: failed }) => (failed === undefined ? 'q' : `q\n\nPrevious attempt failed: ${failed}`));
    expect(prompts).toMatchObject(contents.map((content) => ({ content })));
  });

  test('fails a unit after its last attempt, and skips the units that need it', async () => {
    const program = defineProgram({
      name: 'fail',
      model: MODEL,
      units: [
        unit('a', { needs: [] }, [ask('A', 'q')]),
        unit('b', { needs: ['a'] }, [ask('B', 'q {{a.A}}')]),
        unit('c', { needs: [] }, [ask('C', 'q')]),
      ],
      output: '{{c.C}}',
    });
    const { result } = await testProgram(program, { model: scriptedModel([failWith('model_bad_request'), say('fine')]) });
    expect(result.status).toBe('error');
    expect(result.units?.map(({ name, status, reason }) => [name, status, reason])).toEqual([
      ['a', 'failed', undefined],
      ['b', 'skipped', 'it needs unit "a", which failed'],
      ['c', 'completed', undefined],
    ]);
  });

  test('runs blocks, tools, memory, a wait and a question', async () => {
    const double = defineTool({
      name: 'double',
      description: 'Doubles.',
      parameters: z.object({ n: z.number() }),
      execute: ({ n }) => ({ n: n * 2 }),
    });
    const program = defineProgram({
      name: 'all',
      model: MODEL,
      input: z.object({ list: z.array(z.number()) }),
      units: [
        unit('u', {}, [
          forEach('Doubled', '{{input.list}}', { as: 'n', atOnce: 2 }, [tool('One', double, { n: '{{n}}' })]),
          parallel('Both', [[ask('L', 'left {{Doubled}}', { output: z.object({ score: z.number() }) })], [sleep('Nap', '1h')]]),
          branch('Way', [{ when: { of: 'L.score', is: { minimum: 5 } }, steps: [ask('High', 'high')] }], { else: [ask('Low', 'low')] }),
          repeat('Again', { until: { of: 'Try', is: { const: 'ok' } }, atMost: 3 }, [ask('Try', 'try')]),
          remember('Keep', 'k', '{{Way}}'),
          recall('Find', 'k'),
          human('Who', 'Who signs {{Find[0].value}}?'),
        ]),
      ],
      output: { doubled: '{{u.Doubled}}', who: '{{u.Who}}', found: '{{u.Find[0].value}}', again: '{{u.Again}}' },
    });
    const { result } = await testProgram(program, {
      input: { list: [1, 2, 3] },
      model: scriptedModel([structured({ score: 7 }), say('H'), say('no'), say('ok')]),
      decide: () => respond('Ann'),
    });
    expect(result).toMatchObject({ status: 'completed', error: null });
    expect(result.output).toEqual({ doubled: [{ n: 2 }, { n: 4 }, { n: 6 }], who: 'Ann', found: 'H', again: 'ok' });
  });

  test('waits for approval before a step is paid, and for review after it', async () => {
    const program = defineProgram({
      name: 'review',
      model: MODEL,
      units: [unit('u', {}, [ask('A', 'draft', { approval: true, review: true, refine: { maxAttempts: 2 } })])],
    });
    let reviews = 0;
    const { result, requests } = await testProgram(program, {
      model: scriptedModel([say('bad'), say('good')]),
      decide: ({ toolName }) => {
        if (toolName === 'u.A') return approve({ arguments: { prompt: 'edited' } });
        reviews += 1;
        return reviews === 1 ? reject('too short') : approve();
      },
    });
    expect(result).toMatchObject({ status: 'completed', error: null });
    expect(result.output).toBe('good');
    const prompts = requests.map(({ conversation }) => JSON.stringify(conversation[0]?.content));
    expect(prompts).toEqual([expect.stringContaining('"edited"'), expect.stringContaining('too short')]);
  });

  test.each([10, 3_000])('makes each attempt at a call with the arguments that a person gave (%s characters)', async (length) => {
    const texts: string[] = [];
    const write = defineTool({
      name: 'write',
      description: 'Writes a text.',
      parameters: z.object({ text: z.string() }),
      approval: 'always',
      maxAttempts: 1,
      execute: ({ text }) => {
        if (texts.push(text) === 1) throw new Error('down');
        return 'written';
      },
    });
    const step = tool('Write', write, { text: 'draft' }, { refine: { maxAttempts: 2 } });
    const program = defineProgram({ name: 'edited', model: MODEL, units: [unit('u', {}, [step])] });
    const text = 'x'.repeat(length);
    const { result } = await testProgram(program, { model: scriptedModel([]), decide: () => approve({ arguments: { text } }) });
    expect(result.error).toBeNull();
    expect(texts).toEqual([text, text]);
  });

  test('makes no further attempt of a prompt or a memory step whose reference has no value', async () => {
    const refine = { maxAttempts: 5 };
    const steps = [ask('A', 'Why {{input.none}}?', { refine }), remember('R', '{{input.none}}', 1, { refine })];
    const program = defineProgram({
      name: 'refused',
      model: MODEL,
      units: steps.map((step, index) => unit(`u${index}`, { needs: [] }, [step])),
    });
    const { result } = await testProgram(program, { model: scriptedModel([]), memory: inMemory() });
    expect(result.units.map(({ steps: [step] }) => [step?.status, step?.attempts])).toEqual([
      ['failed', 1],
      ['failed', 1],
    ]);
  });

  test('refuses an edit that a step would not take, and an edited output that does not fit', async () => {
    const program = defineProgram({
      name: 'edited',
      model: MODEL,
      units: [
        unit('u', {}, [
          human('Who', 'Who?', { approval: true, deadline: '2d' }),
          ask('Score', 'Rate it', { output: z.number(), review: true }),
        ]),
      ],
    });
    const edited = (name: string, args: JsonObject): Promise<unknown> =>
      testProgram(program, {
        model: scriptedModel([structured(5)]),
        decide: ({ toolName, kind }) => (kind === 'question' ? respond('Ann') : approve(toolName === name ? { arguments: args } : {})),
      });
    await expect(edited('u.Who', { deadline: '3d' })).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: '"arguments" for call "u.Who.approval" does not fit tool "u.Who": deadline: expected "2d", got "3d"',
    });
    await expect(edited('u.Score.review', { output: 'five' })).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: '"arguments" for call "u.Score.review" does not fit tool "u.Score.review": output: expected number, got string',
    });
  });

  test('has a separate call for each decision about a step, by whose id it is made', async () => {
    const program = defineProgram({
      name: 'asked',
      model: MODEL,
      units: [
        unit('u', {}, [human('Who', 'Who?', { approval: true, review: true }), ask('Letter', 'Write', { approval: true, review: true })]),
      ],
    });
    const asked: string[] = [];
    await testProgram(program, {
      model: scriptedModel([say('Dear Ann')]),
      decide: ({ callId, kind }) => {
        asked.push(callId);
        return kind === 'question' ? respond('Ann') : approve();
      },
    });
    expect(asked).toEqual(['u.Who.approval', 'u.Who', 'u.Who.review', 'u.Letter', 'u.Letter.review']);
  });
});

test('all attempts of a tool share the time of their step', async () => {
  const starts: number[] = [];
  const hangs = defineTool({
    name: 'hangs',
    description: 'Hangs.',
    parameters: z.object({}),
    execute: async (_, { signal }) => {
      starts.push(Date.now());
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      throw new Error('too late');
    },
  });
  const program = defineProgram({ name: 'timed', units: [unit('u', {}, [tool('T', hangs, {}, { timeout: 200 })])] });
  const { result } = await testProgram(program, { model: scriptedModel([]) });
  expect(starts).toHaveLength(1);
  expect(result).toMatchObject({ errorCode: 'step_timeout', error: 'Unit "u" failed: Step \'T\' timed out after 200 ms' });
});
