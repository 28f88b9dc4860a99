import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ALL_RAN,
  type ConsumerProject,
  help,
  INSTALL_TIMEOUT_MS,
  installedProject,
  pretendVersion,
  projectOfCommands,
  runAgents,
  runModule,
  runTests,
  sdkVersions,
  startError,
  typeCheck,
} from './consumer-project.ts';

const versions = await sdkVersions();

describe.each(versions)("with Temporal's SDK at %s, a project that installs the package", (sdk) => {
  let project: ConsumerProject;

  beforeAll(async () => {
    project = await installedProject(sdk);
  }, INSTALL_TIMEOUT_MS);

  afterAll(() => project.remove());

  test('type-checks against it', async () => {
    expect(await typeCheck(project)).toEqual({ stdout: '', stderr: '' });
  });

  test('runs agents from its own workflow and replays their histories', async () => {
    expect(await runAgents(project)).toEqual(ALL_RAN);
  });

  test('tests its agents', async () => {
    expect(await runTests(project)).toMatch(/^# pass 1$/m);
  });

  test('has its binary', async () => {
    expect(await help(project, 'node_modules/.bin/longhaul')).toContain('Usage: longhaul');
  });

  // This test is the last one: it makes the project useless.
  test('reports versions of the SDK that do not match', async () => {
    await pretendVersion(project, '@temporalio/client', '1.999.0');
    expect(await startError(project)).toContain(`@temporalio/client 1.999.0, @temporalio/common ${sdk}`);
  });
});

describe('a project that installs the package without "@temporalio/testing"', () => {
  let project: ConsumerProject;

  beforeAll(async () => {
    project = await installedProject(versions.at(-1) ?? '', { without: ['@temporalio/testing'] });
  }, INSTALL_TIMEOUT_MS);

  afterAll(() => project.remove());

  test('does not get it, and runs its agents', async () => {
    expect(existsSync(join(project.path, 'node_modules/@temporalio/testing'))).toBe(false);
    expect(await typeCheck(project)).toEqual({ stdout: '', stderr: '' });
    expect(await runAgents(project)).toEqual(ALL_RAN);
  });

  test('tests its agents on a server, and is told what tests in memory need', async () => {
    const told = await runModule(
      project,
      `
      import { defineAgent } from 'longhaul';
      import { durableTest, memoryStoreConformance, say, scriptedModel, testAgent } from 'longhaul/testing';
      const [address, namespace] = process.argv.slice(2);
      const agent = defineAgent({ name: 'clerk', model: 'scripted/m' });
      const options = () => ({ input: 'Q', model: scriptedModel([say('A')]) });
      const { result } = await durableTest(agent, { ...options(), address, namespace });
      const problem = await testAgent(agent, options()).catch((error) => error.name + ': ' + error.message);
      console.log(JSON.stringify([result.output, memoryStoreConformance.length > 0, problem]));
      process.exit();
      `,
    );
    const command = `npm install --save-dev @temporalio/testing@${versions.at(-1)}`;
    expect(JSON.parse(told)).toEqual([
      'A',
      true,
      `UsageError: testAgent and testProgram need "@temporalio/testing", which is not installed: ${command}`,
    ]);
  });
});

test.each([
  ['README.md', 'Install'],
  ['docs/tour.md', 'Your own agent'],
  ['docs/ten-minutes.md', '1. A folder'],
])(
  'the commands of %s, under "%s", install the package from its file',
  async (page, heading) => {
    const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
    const [, commands = ''] = new RegExp(`^## ${heading}\\n[^]*?\`\`\`sh\\n([^]*?)\`\`\``, 'm').exec(text) ?? [];
    expect(commands).toContain('npm install');
    const project = await projectOfCommands(commands.trim().split('\n'));
    try {
      expect(await help(project, 'node_modules/.bin/longhaul')).toContain('Usage: longhaul');
    } finally {
      await project.remove();
    }
  },
  INSTALL_TIMEOUT_MS,
);
