import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { bundleWorkflows } from './bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const userWorkflows = fileURLToPath(new URL('./fixtures/user-workflows.ts', import.meta.url));

/** What the SDK brings along, and the validator. Anything else that a workflow needs is a decision: it is parsed for every worker that starts. */
const PACKAGES = ['@cfworker/json-schema', '@temporalio/common', '@temporalio/workflow', 'long', 'ms', 'nexus-rpc'];

/** 1,016 kB without comments when it was set: room for the loop to grow, none for another library. */
const MAX_CODE_BYTES = 1_400_000;

describe('the bundle of a worker without workflows of its own', async () => {
  const bundle = await bundleWorkflows(root);

  test('holds the SDK and a JSON Schema validator, and no zod, no openai, nothing of Node', () => {
    expect(bundle.packages).toEqual(PACKAGES);
  });

  test('holds files of the pure side alone', () => {
    expect(bundle.files.filter((path) => !/^(workflows|src\/core)\//.test(path))).toEqual([]);
    expect(bundle.files).toContain('src/core/loop/run-loop.ts');
  });

  test('has the interceptor that carries the reason of a cancellation', () => {
    expect(bundle.files).toContain('workflows/interceptors/cancellation.ts');
  });

  test('has the converter that lets a run refuse what it cannot read', () => {
    expect(bundle.files).toContain('workflows/interceptors/payload-converter.ts');
  });

  test('stays small', () => {
    expect(bundle.codeBytes).toBeLessThan(MAX_CODE_BYTES);
  });

  test('has one workflow type', () => {
    expect(bundle.workflowTypes).toEqual(['agentRun', 'programRun']);
  });
});

test("a user's workflows stand beside agentRun, with what they import", async () => {
  const bundle = await bundleWorkflows(root, userWorkflows);
  expect(bundle.workflowTypes).toEqual(['agentRun', 'measure', 'programRun']);
  expect(bundle.packages).toEqual([...PACKAGES, 'zod']);
});
