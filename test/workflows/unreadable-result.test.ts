import { expect, test } from 'vitest';
import { toolFailure } from '../../src/core/activity-requests/activity-request.ts';
import { unreadable } from '../../src/core/domain/json.ts';
import { readOutcome } from '../../workflows/run/schedule-activity.ts';
import { testTool } from '../core/loop/fakes/snapshot.ts';
import { modelFailure } from '../../src/core/activity-requests/agent-requests.ts';

const returned = (output: unknown): never => expect.fail(`it was taken for ${JSON.stringify(output)}`);
const result = unreadable('the data of the payload is not JSON');

test('an unreadable result of a tool becomes an error that the model reads', () => {
  const outcome = readOutcome({ name: 'search', returned, failed: (error) => toolFailure(testTool('search'), error) }, result);
  expect(outcome).toMatchObject({
    type: 'result',
    status: 'error',
    content: ['The result of "search" cannot be read: the data of the payload is not JSON'],
  });
});

test('with effect `once`, a call with an unreadable result is lost, because the tool has run', () => {
  const tool = { ...testTool('pay'), effect: 'once' as const };
  expect(readOutcome({ name: 'pay', returned, failed: (error) => toolFailure(tool, error) }, result)).toEqual({
    type: 'lost',
    reason: expect.stringContaining('cannot be read') as string,
  });
});

test('an unreadable answer of a model is a failure of the call', () => {
  expect(readOutcome({ name: 'callModel', returned, failed: (error) => modelFailure('p/m', error) }, result)).toMatchObject({
    type: 'failed',
    code: 'model_error',
  });
});
