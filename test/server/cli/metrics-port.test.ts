import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { callCli } from '../../cli/call-cli.ts';
import { type CliProcess, startCli, untilSaid } from '../../cli/cli-process.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const AGENTS = fileURLToPath(new URL('../../cli/fixtures/scripted-agents.ts', import.meta.url));

/** Starts a command with a page of metrics. */
async function measured(
  args: string[],
  taskQueue: string,
): Promise<{ cli: CliProcess; page: () => Promise<string>; health: () => Promise<Response> }> {
  const where = ['--address', inject('temporalAddress'), '--namespace', inject('temporalNamespace'), '--task-queue', taskQueue];
  const [port] = await freePorts([undefined]);
  const cli = startCli([...args, '--json', '--metrics-port', String(port), ...where]);
  await untilSaid(cli, () => cli.stdout().includes('\n'), 'the line that says that it is ready');
  expect(cli.stderr()).toContain(`Metrics: http://127.0.0.1:${port}/metrics`);
  const at = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
  return { cli, page: async () => (await at('/metrics')).text(), health: () => at('/readyz') };
}

test("the page of a worker has the metrics of its runs and calls, and Temporal's metrics", async () => {
  await using testbed = await Testbed.open();
  const { cli, page, health } = await measured(['worker', '--agents', AGENTS], testbed.taskQueue);
  try {
    const client = await connect({ address: inject('temporalAddress') });
    const result = await client.run('clerk', { input: 'Where is order 42?', taskQueue: testbed.taskQueue });
    expect(result.status).toBe('completed');
    // No input that the worker reads: such a run counts, too.
    const refused = await client.temporal.workflow.start('agentRun', {
      workflowId: `${testbed.taskQueue}-refused`,
      taskQueue: testbed.taskQueue,
      args: [{ agent: 7 }],
    });
    await expect(refused.result()).rejects.toMatchObject({ cause: { type: 'invalid_input' } });
    await client.close();
    await until(async () => /longhaul_status="error"/.test(await page()), 'the ends are counted');
    const text = await page();
    expect(text).toMatch(/^longhaul_runs_started_total\{gen_ai_agent_name="clerk"\} 1$/m);
    expect(text).toMatch(/^longhaul_runs_started_total\{gen_ai_agent_name="none"\} 1$/m);
    expect(text).toMatch(
      /^longhaul_runs_ended_total\{gen_ai_agent_name="clerk",longhaul_status="completed",longhaul_stop_reason="final_answer"\} 1$/m,
    );
    expect(text).toMatch(/^longhaul_runs_ended_total\{gen_ai_agent_name="none",longhaul_status="error",longhaul_stop_reason="error"\} 1$/m);
    expect(text).toMatch(/^gen_ai_client_inference_duration_seconds_count\{/m);
    await until(async () => /^temporal_num_pollers\{/m.test(await page()), 'the metrics of Temporal are there');
    const ready = await health();
    expect([ready.status, await ready.json()]).toMatchObject([200, { ready: true, degraded: false, state: 'RUNNING' }]);
    cli.child.kill('SIGTERM');
    expect(await cli.ended).toBe(0);
  } finally {
    cli.child.kill('SIGKILL');
  }
});

test('the page of a service without a worker has the metrics of its requests alone', async () => {
  await using testbed = await Testbed.open();
  const [port] = await freePorts([undefined]);
  const { cli, page, health } = await measured(['serve', '--port', String(port)], testbed.taskQueue);
  try {
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
    const text = await page();
    expect(text).toMatch(
      /^longhaul_http_duration_seconds_count\{http_request_method="GET",http_route="\/livez",http_response_status_code="200"\} 1$/m,
    );
    expect(text).not.toMatch(/^temporal_/m);
    expect((await health()).status).toBe(404);
  } finally {
    cli.child.kill('SIGKILL');
  }
});

test('an address of metrics without a port is refused, and the help of each command says which metrics it has', async () => {
  const refused = await callCli(['worker', '--agents', AGENTS, '--metrics-host', '0.0.0.0', '--address', inject('temporalAddress')]);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain('--metrics-host: it is the address of the metrics, which need a port: add --metrics-port 9464');
});
