import { expect, test } from 'vitest';
import {
  type AnyStep,
  type AnyUnit,
  ask,
  defineProgram,
  forEach,
  parallel,
  repeat,
  tool,
  unit,
} from '../../../../src/define/program/index.ts';
import { testTool } from '../../loop/fakes/snapshot.ts';
import { runFakeProgram } from './fake-program.ts';

const tools = [testTool('near', { tier: 'local' })];
const near = (name: string): AnyStep => tool(name, 'near');

async function toolCallsOf(...units: AnyUnit[]): Promise<string[]> {
  const { document } = defineProgram({ name: 'local', model: 'scripted/model', units });
  const { toolCalls, result } = await runFakeProgram({ document, input: { items: [1, 2] }, answer: () => 'a', tools });
  expect(result.status).toBe('completed');
  return toolCalls.toSorted();
}

test('a local tool runs inside of the workflow task if its step runs alone', async () => {
  const steps = [
    near('One'),
    forEach('Each', '{{input.items}}', { atOnce: 1 }, [near('Item')]),
    parallel('Single', [[near('Inside')]]),
    near('Last'),
  ];
  expect(await toolCallsOf(unit('u', {}, steps))).toEqual([
    'u.Inside local',
    'u.Item[0] local',
    'u.Item[1] local',
    'u.Last local',
    'u.One local',
  ]);
});

test('a local tool runs as a remote one if other steps run beside it', async () => {
  const steps = [
    parallel('Both', [[near('A'), near('B')], [ask('C', 'c')]]),
    forEach('Each', '{{input.items}}', { atOnce: 2 }, [near('Item')]),
    near('After'),
  ];
  expect(await toolCallsOf(unit('u', {}, steps))).toEqual(['u.A', 'u.After local', 'u.B', 'u.Item[0]', 'u.Item[1]']);
});

test('a local tool runs as a remote one while another unit runs', async () => {
  const units = [
    unit('a', { needs: [] }, [near('A')]),
    unit('b', { needs: [] }, [ask('B', 'b')]),
    unit('c', { needs: ['a', 'b'] }, [near('C')]),
  ];
  expect(await toolCallsOf(...units)).toEqual(['a.A', 'c.C local']);
});

test('of many local calls in a row some are remote, so that no workflow task grows without bound', async () => {
  const again = repeat('Again', { until: { of: 'One', is: { const: 'never' } }, atMost: 60 }, [near('One')]);
  const calls = await toolCallsOf(unit('u', {}, [again]));
  const remote = calls.filter((call) => !call.endsWith('local'));
  expect([calls.length, remote.length]).toEqual([60, 2]);
});
