import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSameRun, callTool, dropCompletion, durableTest, say, scriptedModel, type TestedRun, testAgent } from 'longhaul/testing';
import { surveyor } from './agents.ts';

const options = () => ({
  input: 'How far are 100 miles?',
  model: scriptedModel([callTool('convert_miles', { miles: 100 }), say('160.9 km')]),
});

test('an agent of this project runs in memory as on a server', async () => {
  const inMemory: TestedRun = await testAgent(surveyor, options());
  assert.equal(inMemory.result.outputText, '160.9 km');
  const onServer = await durableTest(surveyor, { ...options(), faults: [dropCompletion('convert_miles')] });
  assertSameRun(onServer, inMemory);
});
