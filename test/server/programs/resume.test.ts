import { expect, test } from 'vitest';
import { ask, defineProgram, forEach, human, unit } from '../../../src/define/program/index.ts';
import { failWith, say, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed } from '../testbed/testbed.ts';

function report(last: string) {
  return defineProgram({
    name: 'report',
    model: 'scripted/model',
    input: { type: 'object', properties: { topics: { type: 'array', items: { type: 'string' } } }, required: ['topics'] },
    units: [
      unit('u', {}, [
        forEach('Notes', '{{input.topics}}', { as: 'topic', atOnce: 1 }, [ask('Note', 'Note {{topic}}')]),
        ask('Draft', 'Draft from {{Notes}}'),
        ask('Final', last),
      ]),
    ],
  });
}

test('an edited program takes over equal results of a failed run, and asks only for the rest', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('a'), say('b'), say('draft'), failWith('model_forbidden'), say('final')]);
  await testbed.work({ agents: [], providers: { scripted } });
  const options = { input: { topics: ['x', 'y'] }, taskQueue: testbed.taskQueue };
  const failed = await testbed.client.startProgram(report('Finish {{Draft}}').document, options);
  expect((await failed.result()).status).toBe('error');
  const resumed = await testbed.client.startProgram(report('Finish well: {{Draft}}').document, {
    ...options,
    resume: { run: failed.runId },
  });
  const result = await resumed.result();
  expect(result).toMatchObject({ status: 'completed', output: 'final', stepsUsed: 1 });
  expect(result.units[0]?.steps.map(({ name, reused = false, output }) => [name, reused, output])).toEqual([
    ['Notes', true, ['a', 'b']],
    ['Draft', true, 'draft'],
    ['Final', false, 'final'],
  ]);
  expect(JSON.stringify(scripted.requests.at(-1)?.conversation)).toContain('Finish well: draft');
}, 60_000);

test('a step whose input differs runs again, and so does each step from the chosen one on', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([
    say('a'),
    say('draft'),
    say('final'),
    say('b'),
    say('draft 2'),
    say('final 2'),
    say('draft 3'),
    say('final 3'),
  ]);
  await testbed.work({ agents: [], providers: { scripted } });
  const start = (topics: string[], resume?: { run: string; from?: string }) =>
    testbed.client.startProgram(report('Finish {{Draft}}').document, {
      input: { topics },
      taskQueue: testbed.taskQueue,
      ...(resume === undefined ? {} : { resume }),
    });
  const first = await start(['x']);
  await first.result();
  const other = await start(['y'], { run: first.runId });
  expect(await other.result()).toMatchObject({ output: 'final 2', stepsUsed: 3 });
  const from = await start(['y'], { run: other.runId, from: 'u.Draft' });
  expect(await from.result()).toMatchObject({ output: 'final 3', stepsUsed: 2 });
  const unknown = await start(['y'], { run: 'no-such-run' });
  expect(await unknown.result()).toMatchObject({
    status: 'error',
    errorCode: 'run_not_found',
    error: expect.stringContaining('has no run "no-such-run"') as string,
  });
}, 60_000);

test('only the items that had not ended are paid for, and a worker refuses a step to resume from that its program does not have', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('a'), failWith('model_forbidden'), say('b'), say('draft'), say('final')]);
  const program = report('Finish {{Draft}}');
  await testbed.work({ agents: [], programs: [program], providers: { scripted } });
  const options = { input: { topics: ['x', 'y'] }, taskQueue: testbed.taskQueue };
  const failed = await testbed.client.startProgram('report', options);
  expect((await failed.result()).status).toBe('error');
  const misspelled = await testbed.client.startProgram('report', { ...options, resume: { run: failed.runId, from: 'u.Darft' } });
  expect(await misspelled.result()).toMatchObject({
    status: 'error',
    errorCode: 'invalid_input',
    error: expect.stringContaining('program "report" has no such step. Did you mean "u.Draft"?') as string,
  });
  const resumed = await testbed.client.startProgram('report', { ...options, resume: { run: failed.runId } });
  expect(await resumed.result()).toMatchObject({ status: 'completed', output: 'final', stepsUsed: 3 });
  const noted = scripted.requests.map(({ conversation }) => JSON.stringify(conversation)).filter((text) => text.includes('Note '));
  expect(noted.map((text) => /Note (\w)/.exec(text)?.[1])).toEqual(['x', 'y', 'y']);
}, 60_000);

test('a run that is still running is not resumed: both would continue with the same steps', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], providers: { scripted: scriptedModel([]) } });
  const waiting = defineProgram({ name: 'waiting', units: [unit('u', {}, [human('Who', 'Who?')])] });
  const open = await testbed.client.startProgram(waiting.document, { taskQueue: testbed.taskQueue });
  const resumed = await testbed.client.startProgram(waiting.document, { taskQueue: testbed.taskQueue, resume: { run: open.runId } });
  expect(await resumed.result()).toMatchObject({
    status: 'error',
    errorCode: 'run_open',
    error: `Run "${open.runId}" is still running: wait for its end, or cancel it first, and resume it then`,
  });
  await open.cancel('enough');
  await open.result();
  const again = await testbed.client.startProgram(waiting.document, { taskQueue: testbed.taskQueue, resume: { run: open.runId } });
  await expect.poll(async () => (await again.status()).status).toBe('pending_confirmation');
  await again.cancel('enough');
}, 60_000);
