import { describe, expect, test } from 'vitest';
import { LonghaulPlugin, type Versioning, type VersioningBehavior } from '../../worker/index.ts';
import { requireSupport, type SystemInfoAccess } from '../../worker/versioning.ts';

function versioning(behavior: VersioningBehavior): Versioning {
  return { deploymentName: 'answers', buildId: 'b1', behavior };
}

function server(serverVersion: string): SystemInfoAccess {
  return { workflowService: { getSystemInfo: () => Promise.resolve({ serverVersion }) } };
}

describe('the worker gets its deployment, its build and the versioning behavior of its runs', () => {
  test.each([
    { behavior: 'PINNED', told: 'PINNED' },
    { behavior: 'AUTO_UPGRADE', told: 'AUTO_UPGRADE' },
    { behavior: 'UPGRADE_ON_CONTINUE_AS_NEW', told: 'PINNED' },
  ] as const)('$behavior', ({ behavior, told }) => {
    const plugin = new LonghaulPlugin({ agents: [], providers: {}, versioning: versioning(behavior) });
    expect(plugin.configureWorker({ taskQueue: 'q' }).workerDeploymentOptions).toEqual({
      version: { deploymentName: 'answers', buildId: 'b1' },
      useWorkerVersioning: true,
      defaultVersioningBehavior: told,
    });
  });

  test('and gets nothing without the option', () => {
    expect(new LonghaulPlugin({ agents: [], providers: {} }).configureWorker({ taskQueue: 'q' })).not.toHaveProperty(
      'workerDeploymentOptions',
    );
  });
});

describe('a usage error, before anything is connected', () => {
  test.each([
    { what: 'a name with a dot', wrong: { deploymentName: 'a.b' }, said: 'deployment name "a.b"' },
    { what: 'no build id', wrong: { buildId: '' }, said: 'build id of deployment "answers" is empty' },
    {
      what: 'an unknown behavior',
      wrong: { behavior: 'pinned' as VersioningBehavior },
      said: '"pinned" is not one of PINNED, AUTO_UPGRADE',
    },
  ])('is $what', ({ wrong, said }) => {
    const options = { agents: [], providers: {}, versioning: { ...versioning('PINNED'), ...wrong } };
    expect(() => new LonghaulPlugin(options)).toThrow(said);
  });

  test('is a deployment that is given twice', () => {
    const plugin = new LonghaulPlugin({ agents: [], providers: {}, versioning: versioning('PINNED') });
    const workerDeploymentOptions = {
      version: { deploymentName: 'x', buildId: 'y' },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'PINNED',
    } as const;
    expect(() => plugin.configureWorker({ taskQueue: 'q', workerDeploymentOptions })).toThrow('leave one of them out');
  });
});

describe('UPGRADE_ON_CONTINUE_AS_NEW needs a server that supports it', () => {
  test.each(['1.29.1', '1.30.4', '0.99.0', ''])('server "%s" would ignore it, and is named', async (version) => {
    await expect(requireSupport(server(version), versioning('UPGRADE_ON_CONTINUE_AS_NEW'))).rejects.toThrow(`"${version || 'unknown'}"`);
  });

  test.each(['1.31.0', '1.31.2-151.0', '1.40.0', '2.0.0'])('server "%s" supports it', async (version) => {
    await expect(requireSupport(server(version), versioning('UPGRADE_ON_CONTINUE_AS_NEW'))).resolves.toBeUndefined();
  });

  test.each(['PINNED', 'AUTO_UPGRADE'] as const)('%s needs no check of the server', async (behavior) => {
    await expect(requireSupport(server('1.29.1'), versioning(behavior))).resolves.toBeUndefined();
  });
});
