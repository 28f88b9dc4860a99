import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { monitor, triage } from '../../examples/options/agents.ts';
import { callTool, scriptedModel, say, structured, testAgent } from '../../src/testing/index.ts';
import { fileStore } from '../../worker/index.ts';

test('the triage of the README gives a typed answer, in its default language', async () => {
  const model = scriptedModel([structured({ urgency: 'high', summary: 'The pump is broken.' })]);
  const { result, requests } = await testAgent(triage, { input: 'It leaks', model });
  expect(result).toMatchObject({ success: true, output: { urgency: 'high', summary: 'The pump is broken.' } });
  expect(JSON.stringify(requests[0])).toContain('Answer in English.');
});

test('the triage of the README asks a person at its limit', async () => {
  const model = scriptedModel([say('It leaks, I think.'), structured({ urgency: 'low', summary: 'Fine.' })]);
  await expect(testAgent(triage, { input: 'It leaks', model, limits: { totalTokens: 1 } })).rejects.toThrow('raise_limits');
});

test('the monitor of the README takes many steps, and reads the beginning of a large result', async () => {
  const script = [callTool('read_log', { hour: 1 }), callTool('read_log', { hour: 2_000 }), say('All is well.')];
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-results-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const { result, steps } = await testAgent(monitor, {
    input: 'Look',
    model: scriptedModel(script),
    payloadStore: fileStore({ directory }),
  });
  expect(result.output).toBe('All is well.');
  expect(steps[1]?.toolCalls[0]).toMatchObject({ spilled: { bytes: expect.any(Number) as number } });
});
