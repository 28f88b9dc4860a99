import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
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
  // The clock of a server on this machine is that of the doctor.
  expect(statusOf(found, 'clock')).toBe('skipped');
});

test('the wrong namespace fails its check, and those that need it are skipped', async () => {
  await using testbed = await Testbed.open();
  const found = await report(['--address', testbed.address, '--namespace', 'nowhere']);
  expect(statusOf(found, 'namespace')).toBe('fail');
  expect(statusOf(found, 'server')).toBe('ok');
  for (const name of ['retention', 'rights', 'search-attributes', 'pollers']) expect(statusOf(found, name)).toBe('skipped');
});
