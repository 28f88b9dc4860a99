import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { freePorts } from '../../../src/dev-server/start-flags.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/grafana', import.meta.url));
const PROCESS = fileURLToPath(new URL('metrics-process.ts', import.meta.url));
const SECRET = 'sk-never-in-a-metric';

/** The words of queries that are not names of metrics. */
const WORDS =
  /^(?:sum|rate|max|min|min_over_time|unless|or|offset|by|le|increase|absent|histogram_quantile|__rate_interval|agent|\d*[mh])$/;

/** Metrics that this page cannot have: one of Prometheus itself, and one of Temporal's Core that appears with the first failure. */
const ELSEWHERE = new Set(['up', 'temporal_workflow_task_execution_failed_total']);

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
}

/** Returns the names of the metrics of a query. */
function metricsIn(query: string): string[] {
  const bare = query
    .replaceAll(/\{[^}]*\}/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(?:by|on) \([^)]*\)/g, ' ');
  return [...new Set(bare.match(/[a-z_][a-z0-9_]*/gi) ?? [])].filter((word) => !WORDS.test(word));
}

/** Returns the queries of the dashboard and of the alerts, by purpose. */
function queries(): [where: string, query: string][] {
  const { panels } = JSON.parse(readFileSync(join(FOLDER, 'longhaul.json'), 'utf8')) as Dashboard;
  const { groups } = parse(readFileSync(join(FOLDER, 'alerts.yml'), 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] };
  return [
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }): [string, string] => [title, expr])),
    ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }): [string, string] => [alert, expr])),
  ];
}

/** What a process that has made a run says of it. */
interface Reported {
  /** Its page of metrics. */
  text: string;
  /** The page of the Runtime of the user, if there is one. */
  own: string;
  runId: string;
  /** What the result says that the run has cost. */
  dollars: number;
}

/** Makes a run in a separate process. */
async function runMeasured(more: NodeJS.ProcessEnv): Promise<Reported> {
  const env = {
    ...process.env,
    TEST_BUNDLE: inject('workflowBundlePath'),
    TEST_ADDRESS: inject('temporalAddress'),
    TEST_SECRET: SECRET,
    TRACED_TOKEN: SECRET,
    ...more,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [PROCESS], { env, maxBuffer: 10_000_000, timeout: 60_000 });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Reported;
}

const promtool = spawnSync('promtool', ['--version']).status === 0;

describe('the page of metrics of a real run', () => {
  let page = '';
  let runId = '';
  let dollars = 0;

  beforeAll(async () => {
    const reported = await runMeasured({ TEST_TASK_QUEUE: `metrics-${process.pid}` });
    [page, runId, dollars] = [reported.text, reported.runId, reported.dollars];
  }, 90_000);

  test('has every name of every query of the dashboard and the alerts', () => {
    const names = new Set(page.split('\n').flatMap((line) => /^# TYPE (\S+) (\S+)$/.exec(line)?.slice(1, 3).join(' ') ?? []));
    const known = new Set(
      [...names].flatMap((one) => {
        const [name = '', type] = one.split(' ');
        return type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
      }),
    );
    const missing = queries().flatMap(([where, query]) =>
      metricsIn(query)
        .filter((name) => !known.has(name) && !ELSEWHERE.has(name))
        .map((name) => `${where}: ${name}`),
    );
    expect(missing).toEqual([]);
    expect(queries().length).toBeGreaterThan(20);
  });

  test.each([
    /^longhaul_runs_started_total\{gen_ai_agent_name="clerk"\} 1$/m,
    /^longhaul_runs_ended_total\{gen_ai_agent_name="clerk",longhaul_status="completed",longhaul_stop_reason="\w+"\} 1$/m,
    /^gen_ai_client_inference_usage_input_tokens_total\{[^}]*gen_ai_request_model="model"\} 300$/m,
    /^gen_ai_client_inference_usage_cache_read_input_tokens_total\{[^}]*\} 240$/m,
    /^gen_ai_client_inference_usage_reasoning_output_tokens_total\{[^}]*\} 15$/m,
    /^gen_ai_execute_tool_duration_seconds_count\{gen_ai_tool_name="search",gen_ai_agent_name="clerk"\} 2$/m,
    /^gen_ai_invoke_agent_tool_calls_sum\{gen_ai_agent_name="clerk"\} 2$/m,
    /^longhaul_cost_usd_total\{gen_ai_agent_name="clerk"\} 0\.\d+/m,
    /^longhaul_fallbacks_total\{from="down\/model",to="up\/model",code="model_server_error"\} [1-3]$/m,
    /^longhaul_http_duration_seconds_count\{http_request_method="GET",http_route="\/v1\/runs\/\{runId\}",http_response_status_code="200"\} 1$/m,
    /^longhaul_http_duration_seconds_count\{http_request_method="GET",http_route="none",http_response_status_code="404"\} 1$/m,
    /^temporal_num_pollers\{.*\} \d+$/m,
  ])('has %s', (line) => {
    expect(page).toMatch(line);
  });

  test('has the cost of the result, by model as by agent', () => {
    const sums = ['longhaul_model_cost_usd_total', 'longhaul_cost_usd_total'].map((name) =>
      page
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0),
    );
    expect(dollars).toBeGreaterThan(0);
    for (const sum of sums) expect(sum).toBeCloseTo(dollars, 10);
    expect(page).toMatch(/^longhaul_model_cost_usd_total\{[^}]*gen_ai_request_model="model",gen_ai_agent_name="clerk"\} 0\.\d+/m);
  });

  test('names no secret, no run, no tenant and no user', () => {
    for (const word of [SECRET, runId, 'acme', 'ada']) expect(page).not.toContain(word);
  });

  test.skipIf(!promtool)('passes promtool, which the package "prometheus" of Debian has', () => {
    // It complains about names, too, but the conventions and Temporal prescribe theirs.
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: page, encoding: 'utf8' });
    expect(checked.stderr).toBe('');
    expect(execFileSync('promtool', ['check', 'rules', join(FOLDER, 'alerts.yml')], { encoding: 'utf8' })).toContain('SUCCESS');
  });
});

test(
  'a Runtime that the user has installed keeps what it measures, and the page has the metrics of runs',
  { timeout: 90_000 },
  async () => {
    const [port] = await freePorts([undefined]);
    const { text, own } = await runMeasured({
      TEST_TASK_QUEUE: `metrics-own-${process.pid}`,
      TEST_OWN_METRICS: `127.0.0.1:${port}`,
    });
    expect(text).toMatch(/^longhaul_runs_started_total\{gen_ai_agent_name="clerk"\} 1$/m);
    expect(text).not.toMatch(/^temporal_/m);
    expect(own).toMatch(/^temporal_num_pollers\{.*\} \d+$/m);
    expect(own).not.toMatch(/^longhaul_/m);
  },
);
