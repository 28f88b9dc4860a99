import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { refundDesk, triage } from '../../../examples/support-desk/agents.ts';
import { scriptedModel } from '../../../examples/support-desk/scripted-model.ts';
import type { RunHandle } from '../../../src/client/index.ts';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { telemetry } from '../../../src/telemetry/telemetry.ts';
import { RecordingMeter } from '../../telemetry/recording-sdk.ts';
import { CHROMIUM } from '../studio/studio-testbed.ts';
import { Testbed } from '../testbed/testbed.ts';

/** The program of Phoenix: `LONGHAUL_PHOENIX`, or the one on the path. */
const PHOENIX = process.env['LONGHAUL_PHOENIX'] ?? 'phoenix';
// Its first line of help takes a minute on a busy machine.
const isInstalled = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', PHOENIX]).status === 0;
const MISSING = isInstalled ? '' : ' (skipped: pip install arize-phoenix)';

/** With PHOENIX_SCREENSHOT=1, the picture of docs/telemetry.md is retaken. Otherwise the same page is checked, and discarded. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/phoenix/', import.meta.url));
const PICTURES = process.env['PHOENIX_SCREENSHOT'] === '1' ? fileURLToPath(new URL('../../../docs/images/', import.meta.url)) : CACHE;

/** It loads a database, and much more. */
const READY_WITHIN = { timeout: 280_000, interval: 500 };

/** A span as Phoenix gives it back. */
interface StoredSpan {
  name: string;
  parent_id: string | null;
  span_kind: string;
  status_code: string;
  attributes: Record<string, unknown>;
  context: { trace_id: string; span_id: string };
}

/** The run of the support desk as its trace shows it: the name of a span, the kind that Phoenix sees, and the parent span. */
const STORY = [
  ['invoke_agent triage', 'AGENT', null],
  ['chat gpt-5-mini', 'LLM', 'invoke_agent triage'],
  ['execute_tool load_skill', 'TOOL', 'invoke_agent triage'],
  ['execute_tool researcher', 'TOOL', 'invoke_agent triage'],
  ['invoke_agent researcher', 'AGENT', 'execute_tool researcher'],
  ['execute_tool order_reader', 'TOOL', 'invoke_agent researcher'],
  ['invoke_agent order_reader', 'AGENT', 'execute_tool order_reader'],
  ['execute_tool find_order', 'TOOL', 'invoke_agent order_reader'],
  ['execute_tool cashier', 'TOOL', 'invoke_agent triage'],
  ['invoke_agent cashier', 'AGENT', 'execute_tool cashier'],
  ['longhaul.wait', 'UNKNOWN', 'invoke_agent cashier'],
  ['execute_tool refund', 'TOOL', 'invoke_agent cashier'],
];

/** The spans of that run and of the agents below it: 5 agents, 13 model calls, 9 tool calls and a wait. */
const SPANS = 28;

describe.skipIf(!isInstalled)(`Phoenix${MISSING}`, () => {
  let phoenix: ChildProcess;
  let folder: string;
  let url: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longhaul-phoenix-'));
    const [port, grpc] = await freePorts([undefined, undefined]);
    url = `http://127.0.0.1:${port}`;
    const env = {
      ...process.env,
      PHOENIX_HOST: '127.0.0.1',
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpc),
      PHOENIX_WORKING_DIR: folder,
      PHOENIX_TELEMETRY_ENABLED: 'false',
    };
    phoenix = spawn(PHOENIX, ['serve'], { env, stdio: 'ignore' });
    const isUp = (): Promise<boolean> =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await vi.waitUntil(isUp, READY_WITHIN);
  }, 300_000);

  afterAll(async () => {
    if (phoenix.exitCode === null) {
      phoenix.kill('SIGKILL');
      await once(phoenix, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  });

  /** Returns the spans of a trace that Phoenix has. */
  async function stored(traceId: string): Promise<StoredSpan[]> {
    const answer = await fetch(`${url}/v1/projects/default/spans?limit=1000`);
    const { data = [] } = (await answer.json()) as { data?: StoredSpan[] };
    return data.filter(({ context }) => context.trace_id === traceId);
  }

  test('shows a run of the support desk as one story, with its tokens, each span of it once', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
    const reported = await telemetry({ meterProvider: new RecordingMeter() });
    await using testbed = await Testbed.open();
    const since = new Date();
    const prices = { 'openai/gpt-5-mini': { input: 0.25, output: 2 } };
    const options = { agents: [triage, refundDesk], providers: { openai: scriptedModel({ pauseMs: 300 }) }, prices };
    await testbed.work({ ...options, telemetry: reported, captureContent: 'redacted' });
    const { client, taskQueue } = testbed;
    const run = await client.start(triage, { input: 'My lamp arrived broken. I want my money back. It is order 42.', taskQueue });
    await approve(run);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    const { traceId } = await run.traceContext();
    // A busy Phoenix answers too late, and loses what was sent to it. A repair asks it what it has.
    const storedIn = async (id: string): Promise<string[]> => (await stored(id)).map(({ context }) => context.span_id);
    const repair = async (): Promise<number> => {
      await reported.repair({ since, calls: { storedIn, endedFor: 1 } });
      await reported.flush();
      return (await stored(traceId)).length;
    };
    await vi.waitUntil(async () => (await repair()) >= SPANS, READY_WITHIN);

    const spans = await stored(traceId);
    const nameOf = new Map(spans.map(({ name, context }) => [context.span_id, name]));
    const told = spans.map(({ name, span_kind: kind, parent_id: parent }) => [name, kind, parent === null ? null : nameOf.get(parent)]);
    for (const line of STORY) expect(told).toContainEqual(line);
    // Phoenix itself adds up the calls of models.
    const chats = spans.filter(({ span_kind: kind }) => kind === 'LLM');
    const tokensOf = ({ attributes }: StoredSpan): number => Number(attributes['llm.token_count.total']);
    expect(chats.map(tokensOf)).toEqual(chats.map(() => 220));
    const { descendants, usage } = await run.result();
    expect(chats.length * 220).toBe(usage.totalTokens + (descendants?.usage.totalTokens ?? 0));

    // Stored spans do not change.
    expect(await repair()).toBe(SPANS);
    if (CHROMIUM !== undefined) await look(`${url}/redirects/traces/${traceId}`);
  }, 300_000);
});

/** Approves the refund, once it waits. */
async function approve(run: Pick<RunHandle, 'approvals' | 'approve'>): Promise<void> {
  await expect.poll(async () => (await run.approvals()).pending.length, { timeout: 30_000 }).toBe(1);
  const [refund] = (await run.approvals()).pending;
  await run.approve(refund!, { by: 'ann' });
}

/** Takes a picture of the page of a trace. */
async function look(url: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1150 }, colorScheme: 'light', reducedMotion: 'reduce' });
    await page.addInitScript(
      'localStorage.setItem("arize-phoenix-theme-mode", "light"); localStorage.setItem("arize-phoenix-theme", "light")',
    );
    await page.goto(url);
    await page.getByText('execute_tool refund').first().waitFor({ timeout: 60_000 });
    await page.getByText('longhaul.wait').first().click();
    await page.getByText('longhaul.decision.source').first().waitFor({ timeout: 60_000 });
    await page.screenshot({ path: `${PICTURES}phoenix-trace.png` });
  } finally {
    await browser.close();
  }
}
