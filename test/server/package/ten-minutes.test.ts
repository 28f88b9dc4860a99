import { dirname } from 'node:path';
import { expect, inject, test } from 'vitest';
import { Reader, tutorialFences } from '../../first-hours/tutorial.ts';
import { barePackage } from './consumer-project.ts';

test('whoever follows the page of ten minutes, fence by fence, in a fresh folder has a tested agent that survives its worker', async () => {
  const [install, ...fences] = tutorialFences();
  expect(fences.length).toBeGreaterThan(12);
  // What the first fence installs is run by test/first-hours, from a registry: here the dependencies are this project's.
  expect(install?.text).toContain('npm install');
  const project = await barePackage();
  const { TEMPORAL_ADDRESS: _, NODE_TEST_CONTEXT: __, OPENAI_API_KEY: ___, ...env } = process.env;
  try {
    // The server of the tests in place of one at the usual port. The first terminal prints its HTTP port, which nothing here uses.
    await using reader = new Reader(project.path, {
      ...env,
      PATH: `${dirname(process.execPath)}:${env['PATH'] ?? ''}`,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: inject('temporalNamespace'),
    });
    for (const fence of fences) expect(await reader.read(fence)).toEqual([]);
  } finally {
    await project.remove();
  }
}, 300_000);
