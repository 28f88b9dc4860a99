import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import type { DoctorReport } from '../../../src/cli/doctor/doctor.ts';
import { callCli } from '../../cli/call-cli.ts';
import { Testbed, until } from '../testbed/testbed.ts';
import { assistant } from '../testbed/agents.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';

async function report(args: readonly string[]): Promise<DoctorReport> {
  const { stdout } = await callCli(['doctor', '--json', ...args]);
  return JSON.parse(stdout) as DoctorReport;
}

const statusOf = ({ checks }: DoctorReport, name: string): string | undefined => checks.find((check) => check.name === name)?.status;

test('a namespace without search attributes is repaired by --fix, and by nothing else', async () => {
  await using testbed = await Testbed.open();
  const namespace = `doctor-${randomUUID()}`;
  const { temporal } = testbed.client;
  await temporal.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 * 3 } as never });
  const args = ['--address', testbed.address, '--namespace', namespace];
  await until(async () => statusOf(await report(args), 'namespace') === 'ok', 'the namespace exists');

  expect(statusOf(await report(args), 'search-attributes')).toBe('fail');
  expect(statusOf(await report(args), 'search-attributes')).toBe('fail');
  const fixed = await report([...args, '--fix']);
  expect(fixed.fixed).toEqual([
    { done: expect.stringContaining('LonghaulAgent'), undo: expect.stringMatching(/^temporal operator search-attribute remove/) },
  ]);
  await until(async () => statusOf(await report(args), 'search-attributes') === 'ok', 'the search attributes are there');
});

test('the server, its namespace and the worker of the task queue are found', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('ok')]) } });
  const args = ['--address', testbed.address, '--task-queue', testbed.taskQueue];
  await until(async () => statusOf(await report(args), 'pollers') === 'ok', 'the worker polls', 20);
  const found = await report(args);
  for (const name of ['server', 'namespace', 'retention', 'rights', 'backlog']) expect([name, statusOf(found, name)]).toEqual([name, 'ok']);
  // A server on this machine and the doctor use the same clock.
  expect(statusOf(found, 'clock')).toBe('skipped');
});

test('the wrong namespace fails its check, and those that need it are skipped', async () => {
  await using testbed = await Testbed.open();
  const found = await report(['--address', testbed.address, '--namespace', 'nowhere']);
  expect(statusOf(found, 'namespace')).toBe('fail');
  expect(statusOf(found, 'server')).toBe('ok');
  for (const name of ['retention', 'rights', 'search-attributes', 'pollers']) expect(statusOf(found, name)).toBe('skipped');
});

const cliPath = inject('temporalCliPath');

/** Runs a command of a report as a person does, who answers its questions with yes. */
async function typed(command: string): Promise<void> {
  const path = `${dirname(cliPath ?? '')}:${process.env['PATH']}`;
  // The program in the cache bears another name.
  const script = `temporal() { '${cliPath}' "$@"; }; yes | { ${command}; }`;
  await promisify(execFile)('bash', ['-c', script], { env: { PATH: path, HOME: '/nowhere' } });
}

function commandOf({ checks }: DoctorReport, name: string): string {
  return checks.find((check) => check.name === name)?.command ?? '';
}

/** What the checks of the server complain about. */
function complaints({ checks }: DoctorReport): string[] {
  return checks.flatMap(({ group, name, status }) =>
    group === 'Temporal server' && (status === 'fail' || status === 'warn') ? [`${status} ${name}`] : [],
  );
}

describe.skipIf(cliPath === undefined)(
  `commands of a report${cliPath === undefined ? ' (skipped: the server was not started here)' : ''}`,
  () => {
    test('repair the namespace, its search attributes and its retention on the examined server', async () => {
      await using testbed = await Testbed.open();
      const namespace = `doctor-${randomUUID()}`;
      const args = ['--address', testbed.address, '--namespace', namespace];
      const missing = await report(args);
      expect(complaints(missing)).toEqual(['fail namespace']);

      await typed(commandOf(missing, 'namespace'));
      await until(async () => statusOf(await report(args), 'search-attributes') === 'fail', 'every part of the server knows it', 30);
      const bare = await report(args);
      expect(complaints(bare)).toEqual(['fail search-attributes']);

      await typed(commandOf(bare, 'search-attributes'));
      await until(async () => statusOf(await report(args), 'search-attributes') === 'ok', 'the search attributes have their types', 30);
      expect(complaints(await report(args))).toEqual([]);

      const { workflowService } = testbed.client.temporal;
      await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: { seconds: 6 * 3_600 } as never } });
      await until(async () => statusOf(await report(args), 'retention') === 'warn', 'the retention is short', 30);
      const short = await report(args);
      expect(complaints(short)).toEqual(['warn retention']);

      await typed(commandOf(short, 'retention'));
      await until(async () => statusOf(await report(args), 'retention') === 'ok', 'the retention is long', 30);
      expect(complaints(await report(args))).toEqual([]);
    });

    test('give a search attribute its type, and undo what --fix has added', async () => {
      await using testbed = await Testbed.open();
      const namespace = `doctor-${randomUUID()}`;
      const { temporal } = testbed.client;
      await temporal.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 * 3 } as never });
      const args = ['--address', testbed.address, '--namespace', namespace];
      await until(async () => statusOf(await report(args), 'namespace') === 'ok', 'the namespace exists');
      const text = 1;
      await until(
        async () =>
          temporal.connection.operatorService.addSearchAttributes({ namespace, searchAttributes: { LonghaulTag: text } }).then(
            () => true,
            () => false,
          ),
        'the server takes search attributes of the namespace',
      );
      const other = (found: DoctorReport): boolean =>
        /another type: LonghaulTag/.test(found.checks.map(({ summary }) => summary).join('\n'));
      await until(async () => other(await report(args)), 'the attribute has another type');
      await typed(commandOf(await report(args), 'search-attributes'));
      await until(async () => !other(await report(args)), 'the attribute has its type');

      const { fixed } = await report([...args, '--fix']);
      expect(fixed).toHaveLength(1);
      await until(async () => statusOf(await report(args), 'search-attributes') === 'ok', 'the other attributes are there');
      await typed(fixed[0]?.undo ?? '');
      await until(async () => statusOf(await report(args), 'search-attributes') === 'fail', 'the other attributes are gone');
    });

    test('make the build of workers current', async () => {
      await using testbed = await Testbed.open();
      const version = { deploymentName: `desk-${randomUUID()}`, buildId: 'b7' };
      await testbed.work({
        agents: [assistant],
        providers: { scripted: scriptedModel([say('ok')]) },
        worker: { workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' } },
      });
      const args = ['--address', testbed.address, '--task-queue', testbed.taskQueue];
      await until(async () => statusOf(await report(args), 'builds') === 'warn', 'the worker polls with its build', 20);
      await typed(commandOf(await report(args), 'builds'));
      await until(async () => statusOf(await report(args), 'builds') === 'ok', 'the build is current', 20);
      expect(commandOf(await report(args), 'builds')).toBe('');
    });
  },
);
