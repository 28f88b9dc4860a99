import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { bundleWorkflows } from './bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const userWorkflows = fileURLToPath(new URL('./fixtures/user-workflows.ts', import.meta.url));

/** The packages of the SDK, and the validator. Every worker parses the bundle when it starts: adding a package is a decision. */
const PACKAGES = ['@cfworker/json-schema', '@temporalio/common', '@temporalio/workflow', 'long', 'ms', 'nexus-rpc'];

/** The bundle had 1,837 kB without comments when this was set: there is room for the loop to grow, but not for another library. */
const MAX_CODE_BYTES = 2_250_000;

describe('the bundle of a worker without its own workflows', async () => {
  const bundle = await bundleWorkflows(root);

  test('has the SDK and a JSON Schema validator, but no zod, no openai, and no modules of Node', () => {
    expect(bundle.packages).toEqual(PACKAGES);
  });

  test('has files of the pure side alone', () => {
    expect(bundle.files.filter((path) => !/^(workflows|src\/core)\//.test(path))).toEqual([]);
    expect(bundle.files).toContain('src/core/kernel/run-loop.ts');
  });

  test('has the interceptor that carries the reason of a cancellation', () => {
    expect(bundle.files).toContain('workflows/interceptors/cancellation.ts');
  });

  test('has the converter that lets a run refuse unreadable data', () => {
    expect(bundle.files).toContain('workflows/interceptors/payload-converter.ts');
  });

  test('is below its maximum size', () => {
    expect(bundle.codeBytes).toBeLessThan(MAX_CODE_BYTES);
  });

  test('has one workflow type', () => {
    expect(bundle.workflowTypes).toEqual(['agentRun', 'batchCollector', 'programRun']);
  });
});

test("a user's workflows are bundled along with agentRun, with their imports", async () => {
  const bundle = await bundleWorkflows(root, userWorkflows);
  expect(bundle.workflowTypes).toEqual(['agentRun', 'batchCollector', 'measure', 'programRun']);
  expect(bundle.packages).toEqual([...PACKAGES, 'zod']);
}, 60_000);
