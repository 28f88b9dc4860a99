import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';
import type { CreateWorkerOptions, VersioningBehavior } from '../../../worker/index.ts';
import { waitsBeforeStep2 } from '../../replay/loop-mutations.ts';
import { bundleMutated, removeMutated } from '../../replay/replay-mutated.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

type Bundle = NonNullable<CreateWorkerOptions['worker']>['workflowBundle'];

/**
 * The loop of a second build, which waits before step 2: guarded by a change id, as a change of the loop after a release is made, or
 * unguarded, so that runs of the first build cannot replay.
 */
let patchedBundle: Bundle;
let strandingBundle: Bundle;

beforeAll(async () => {
  patchedBundle = await bundleMutated(waitsBeforeStep2(" && ports.allows('wait-before-step-2')"));
  strandingBundle = await bundleMutated(waitsBeforeStep2());
});
afterAll(removeMutated);

/** A deployment on a testbed, with a tool that holds a run in its first step until the test releases it. */
class Deployment {
  readonly deploymentName = `deployment-${randomUUID()}`;
  readonly #testbed: Testbed;
  readonly #behavior: VersioningBehavior;
  held = 0;
  release = (): void => undefined;
  readonly #released = new Promise<void>((resolve) => (this.release = resolve));

  constructor(testbed: Testbed, behavior: VersioningBehavior) {
    this.#testbed = testbed;
    this.#behavior = behavior;
  }

  /** Starts a worker with a build and makes that build the current one. */
  async deploy(buildId: string, script: ScriptEntry[], workflowBundle?: Bundle): Promise<void> {
    const hold = defineTool({
      name: 'hold',
      description: 'Waits',
      parameters: z.object({}),
      execute: async () => {
        this.held += 1;
        await this.#released;
        return 'held';
      },
    });
    const { deploymentName } = this;
    await this.#testbed.work({
      agents: [defineAgent({ name: 'holding', model: 'scripted/m', tools: [hold] })],
      providers: { scripted: scriptedModel(script) },
      versioning: { deploymentName, buildId, behavior: this.#behavior },
      ...(workflowBundle === undefined ? {} : { worker: { workflowBundle } }),
    });
    // The server knows a build as soon as its worker has polled.
    await until(async () => this.#makeCurrent(buildId), `build "${buildId}" to be known`);
  }

  async #makeCurrent(buildId: string): Promise<boolean> {
    const { workflowService, options } = this.#testbed.client.temporal;
    try {
      await workflowService.setWorkerDeploymentCurrentVersion({
        namespace: options.namespace,
        deploymentName: this.deploymentName,
        version: `${this.deploymentName}.${buildId}`,
        buildId,
      });
      return true;
    } catch {
      return false;
    }
  }
}

/** Returns the build that completed each workflow task of a run. */
async function builds(testbed: Testbed, runId: string): Promise<string[]> {
  const events = await historyOf(testbed, runId);
  return events.flatMap(({ workflowTaskCompletedEventAttributes: task }) => task?.deploymentVersion?.buildId ?? []);
}

describe('a second build is deployed in the middle of a run', () => {
  test('PINNED: the run ends on the build that it began on, and new runs start on the second build', async () => {
    await using testbed = await Testbed.open();
    const deployment = new Deployment(testbed, 'PINNED');
    await deployment.deploy('b1', [callTool('hold', {}), say('by the first build')]);
    const running = await testbed.client.start('holding', { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => deployment.held === 1, 'the tool');

    await deployment.deploy('b2', [callTool('hold', {}), say('by the second build')], strandingBundle);
    deployment.release();
    expect(await running.result()).toMatchObject({ status: 'completed', output: 'by the first build' });
    expect(new Set(await builds(testbed, running.runId))).toEqual(new Set(['b1']));

    const next = await testbed.client.run('holding', { input: 'Q', taskQueue: testbed.taskQueue });
    expect(next).toMatchObject({ status: 'completed', output: 'by the second build' });
    expect(new Set(await builds(testbed, next.runId))).toEqual(new Set(['b2']));
  });

  test('AUTO_UPGRADE: the run moves to the second build, if the change of the loop is guarded by a change id', async () => {
    await using testbed = await Testbed.open();
    const deployment = new Deployment(testbed, 'AUTO_UPGRADE');
    await deployment.deploy('b1', [callTool('hold', {})]);
    const running = await testbed.client.start('holding', { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => deployment.held === 1, 'the tool');

    await deployment.deploy('b2', [say('by the second build')], patchedBundle);
    deployment.release();
    expect(await running.result()).toMatchObject({ status: 'completed', output: 'by the second build', stepsUsed: 2 });
    const taken = await builds(testbed, running.runId);
    expect([taken[0], taken.at(-1)]).toEqual(['b1', 'b2']);
    const events = await historyOf(testbed, running.runId);
    expect(events.filter((event) => event.timerStartedEventAttributes)).toHaveLength(1);
    const { raw } = await testbed.client.temporal.workflow.getHandle(running.runId).describe();
    expect(raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId).toBe('b2');
  });
});

test('UPGRADE_ON_CONTINUE_AS_NEW is refused with the version of a server that would ignore it', async () => {
  await using testbed = await Testbed.open();
  const { serverVersion } = await testbed.client.temporal.workflowService.getSystemInfo({});
  const [major = 0, minor = 0] = (serverVersion ?? '').split('.').map(Number);
  const versioning = { deploymentName: 'd', buildId: 'b', behavior: 'UPGRADE_ON_CONTINUE_AS_NEW' } as const;
  const outcome = await testbed.work({ agents: [], providers: {}, versioning }).then(() => 'accepted', errorMessage);
  expect(outcome).toContain(major > 1 || minor >= 31 ? 'accepted' : `this one is "${serverVersion}"`);
});
