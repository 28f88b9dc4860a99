import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type Browser, chromium, type Page } from 'playwright-core';
import { Hono } from 'hono';
import { listen } from '../../src/server/node-server.ts';
import { studioFiles } from '../../src/server/studio.ts';
import { median, percentile, rounded } from '../figures/statistics.ts';
import { createHandler } from '../../src/server/index.ts';
import type { LonghaulClient } from '../../src/client/index.ts';

const FOLDER = fileURLToPath(new URL('../../dist/studio/', import.meta.url));

/** The figures of `--part size`: kilobytes, compressed. */
interface SizeFigures {
  initialKb: number;
  allKb: number;
  files: number;
}

/** Measures the built page: what its first load brings, and all of its files. */
export function measureSize(): SizeFigures {
  if (!existsSync(`${FOLDER}index.html`)) throw new Error('Studio is not built: run npm run build:studio');
  const kb = (file: string): number => gzipSync(readFileSync(`${FOLDER}${file}`), { level: 9 }).length / 1_000;
  const html = readFileSync(`${FOLDER}index.html`, 'utf8');
  const files = ['index.html', ...readdirSync(`${FOLDER}assets`).map((name) => `assets/${name}`)];
  const initial = files.filter((file) => file === 'index.html' || html.includes(file));
  const sum = (some: readonly string[]): number =>
    rounded(
      some.reduce((total, file) => total + kb(file), 0),
      1,
    );
  return { initialKb: sum(initial), allKb: sum(files), files: files.length };
}

/** The figures of `--part page`. */
interface PageFigures {
  /** From the navigation to the first rows on the screen. */
  firstPaintMs: number;
  /** From the navigation until all rows have come. */
  allRowsMs: number;
  scrollFrameMsP95: number;
  heapMb: number;
  eventToScreenMsP95: number;
  /** From the navigation to a program until all 200 nodes of its graph are drawn. The code that finds their places is loaded within. */
  graphMs: number;
}

/** The program whose graph is drawn: units of steps. Each unit needs two earlier ones. */
const PROGRAM = 'bench-program';
const NODES = 200;
const STEPS_OF_UNIT = 4;

/** The number of rounds for the median. */
const ROUNDS = 3;

/** What comes in each second while the page is open, and for how long. */
const PER_SECOND = 50;
const LIVE_MS = 6_000;

/** The time within which all frames of the scrolling have to come, in milliseconds. */
const SCROLLED_WITHIN_MS = 120_000;

/** Items in one piece of the stream, as many as a page of the record has. */
const TOGETHER = 100;

const RUN = 'clerk-1';

/** Measures the page of a long run, with a generated record in the place of a server: the page, not the service. */
export async function measurePage(steps: number): Promise<PageFigures> {
  const rounds: PageFigures[] = [];
  const server = await listen(generatedService(steps), { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(['--enable-precise-memory-info', '--js-flags=--expose-gc']);
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
      const figures = await measureRound(page, `${server.url}/studio#/runs/${RUN}`, steps);
      await page.close();
      rounds.push({ ...figures, graphMs: await measureGraph(await browser.newPage(), server.url) });
    }
  } finally {
    await browser.close();
    await server.close(0);
  }
  const middle = (name: keyof PageFigures): number => rounded(median(rounds.map((one) => one[name])), 1);
  return {
    firstPaintMs: middle('firstPaintMs'),
    allRowsMs: middle('allRowsMs'),
    scrollFrameMsP95: middle('scrollFrameMsP95'),
    heapMb: middle('heapMb'),
    eventToScreenMsP95: middle('eventToScreenMsP95'),
    graphMs: middle('graphMs'),
  };
}

/** Starts the browser of this machine. */
async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((file) => existsSync(file));
  if (executablePath === undefined) throw new Error('There is no Chromium on this machine');
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...args] });
}

async function measureGraph(page: Page, url: string): Promise<number> {
  await page.addInitScript(`
    new MutationObserver(() => {
      if (window.drawn === undefined && document.querySelectorAll('svg.graph g').length === ${NODES}) requestAnimationFrame(() => (window.drawn ??= performance.now()));
    }).observe(document, { subtree: true, childList: true });
  `);
  await page.goto(`${url}/studio#/programs/${PROGRAM}`);
  for (let looks = 0; (await page.evaluate('window.drawn')) === undefined; looks += 1) {
    if (looks > 600) throw new Error('The page has not drawn the graph within a minute');
    await page.waitForTimeout(100);
  }
  const drawn = (await page.evaluate('window.drawn')) as number;
  await page.close();
  return drawn;
}

/** Returns a document whose graph has as many nodes: each unit is one, and each of its steps. */
function bigProgram(): object {
  const units = Array.from({ length: NODES / (STEPS_OF_UNIT + 1) }, (_, index) => ({
    name: `unit${index}`,
    needs: [index - 1, index - 3].filter((one) => one >= 0).map((one) => `unit${one}`),
    steps: Array.from({ length: STEPS_OF_UNIT }, (_step, number) => ({ name: `step${number}`, ask: 'Write' })),
  }));
  return { name: PROGRAM, units: units.map(({ name }) => name), document: { name: PROGRAM, units } };
}

async function measureRound(page: Page, url: string, steps: number): Promise<Omit<PageFigures, 'graphMs'>> {
  await page.addInitScript(`
    const seen = (window.seen = { late: [] });
    new MutationObserver(() => {
      if (seen.first === undefined && document.querySelector('.windowed .row') !== null) requestAnimationFrame(() => (seen.first ??= performance.now()));
      const box = document.querySelector('.windowed > div');
      if (seen.all === undefined && box !== null && parseFloat(box.style.height) >= ${steps * 36}) seen.all = performance.now();
      const stamp = document.querySelector('.live .text')?.textContent.match(/@(\\d+) $/)?.[1];
      if (stamp !== undefined && stamp !== seen.stamp) { seen.stamp = stamp; const then = Number(stamp); requestAnimationFrame(() => seen.late.push(Date.now() - then)); }
    }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  `);
  await page.goto(url);
  // The policy of the page forbids functions made from text.
  for (let looks = 0; (await page.evaluate('window.seen.all')) === undefined; looks += 1) {
    if (looks > 600) throw new Error('The page has not shown all rows within a minute');
    await page.waitForTimeout(100);
  }
  await page.waitForTimeout(LIVE_MS / 2);
  const scrolling = page.evaluate(`(async () => {
    const box = document.querySelector('.windowed');
    const frames = [];
    let last = performance.now();
    for (let frame = 0; frame < 120; frame += 1) {
      box.scrollTop += 700;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frames.push(performance.now() - last);
      last = performance.now();
    }
    return frames;
  })()`) as Promise<number[]>;
  const frames = await Promise.race([scrolling, frozenAfter(SCROLLED_WITHIN_MS)]);
  await page.waitForTimeout(LIVE_MS / 2);
  const seen = (await page.evaluate('window.seen')) as { first: number; all: number; late: number[] };
  const heap = (await page.evaluate('(window.gc?.(), performance.memory.usedJSHeapSize)')) as number;
  return {
    firstPaintMs: seen.first,
    allRowsMs: seen.all,
    scrollFrameMsP95: percentile(frames, 95),
    heapMb: heap / 1_000_000,
    eventToScreenMsP95: percentile(seen.late, 95),
  };
}

/** Rejects after a time: a page that no longer answers would be waited for forever. */
async function frozenAfter(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new Error(`The page has not answered within ${ms} ms while it was scrolled`);
}

/** A service whose only run has a generated record. */
function generatedService(steps: number): (request: Request) => Promise<Response> {
  const app = new Hono();
  app.route('/studio', studioFiles({ openTo: undefined }));
  const usage = { promptTokens: 900, completionTokens: 60, totalTokens: 960, cachedTokens: 0, reasoningTokens: 0, llmCalls: steps };
  const now = new Date().toISOString();
  const about = { agentName: 'clerk' };
  const scopes = ['admin'];
  app.get('/v1/me', (context) =>
    context.json({ id: 'bench', principal: 'all', scopes, features: {}, versions: { node: '' }, namespace: 'default' }),
  );
  app.get(`/v1/programs/${PROGRAM}`, (context) => context.json(bigProgram()));
  app.get('/v1/approvals', (context) => context.json({ approvals: [] }));
  app.get('/v1/feed', () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }));
  app.get(`/v1/runs/${RUN}`, (context) =>
    context.json({
      version: 1,
      runId: RUN,
      ...about,
      about,
      status: 'running',
      currentStep: steps,
      usage,
      toolCallsTotal: steps,
      startTime: now,
    }),
  );
  app.get(`/v1/runs/${RUN}/tree`, (context) =>
    context.json({
      runId: RUN,
      kind: 'agent',
      agentName: 'clerk',
      status: 'running',
      steps,
      usage,
      treeUsage: usage,
      waitingFor: [],
      children: [],
    }),
  );
  app.get(`/v1/runs/${RUN}/timeline`, (context) => context.json({ runId: RUN, from: 0, spans: [], ms: {} }));
  app.get(`/v1/runs/${RUN}/stream`, () => new Response(recordOf(steps), { headers: { 'content-type': 'text/event-stream' } }));
  return async (request) => app.fetch(request, { peer: undefined });
}

/** An item of a stream. */
interface Item {
  type: string;
  [member: string]: unknown;
}

/** The record as a stream: first what there is, then what the model writes. */
function recordOf(steps: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const message = (item: Item, id: string): string => `id: ${id}\nevent: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`;
  let step = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  return new ReadableStream({
    pull: (controller) => {
      if (step < steps) {
        const until = Math.min(steps, step + TOGETHER);
        let text = step === 0 ? message({ type: 'status', status: 'running' }, 's') : '';
        for (; step < until; step += 1) for (const item of itemsOf(step)) text += message(item, String(step));
        controller.enqueue(encoder.encode(text));
        return;
      }
      timer ??= setInterval(() => {
        const delta = { type: 'text', text: `@${Date.now()} ` };
        controller.enqueue(encoder.encode(message({ type: 'delta', step, attempt: 1, eventId: 'live', delta }, 'l')));
      }, 1_000 / PER_SECOND);
    },
    cancel: () => clearInterval(timer),
  });
}

function itemsOf(step: number): Item[] {
  const base = { executionId: RUN, timestamp: '2026-11-01T00:00:00.000Z', author: 'clerk' };
  const usage = { promptTokens: 900 + step, completionTokens: 60, totalTokens: 960 + step, costUsd: 0.001 };
  const callId = `c${step}`;
  const call = { type: 'tool_call', toolCallId: callId, name: 'find_order', arguments: { order: step } };
  const said = { type: 'message', role: 'assistant', content: `I look at order ${step}, and then at the next one.` };
  const result = {
    type: 'tool_result',
    toolCallId: callId,
    name: 'find_order',
    status: 'success',
    content: [{ order: step, article: 'Lamp', price: 80 }],
  };
  const record = {
    toolName: 'find_order',
    callId,
    arguments: { order: step },
    result: '{}',
    isError: false,
    durationMs: 3,
    timestamp: base.timestamp,
  };
  const done = { step: step + 1, thought: said.content, toolCalls: [record], usage, finishReason: 'tool_calls' };
  return [
    { type: 'event', offset: 2 * step, event: { ...base, id: `a${step}`, content: [said, call], usage } },
    { type: 'event', offset: 2 * step + 1, event: { ...base, id: `r${step}`, content: [result] } },
    { type: 'step', step: done },
  ];
}

/** The time within which a page has to show what waits, in milliseconds. */
const SHOWN_WITHIN_MS = 60_000;

interface WaitingOnScreen {
  client: LonghaulClient;
  /** Starts a run for a user, and resolves once its call waits, with the recorded time of the wait. */
  startWaiting: (user: string) => Promise<number>;
  runs: number;
}

/** Measures the milliseconds from the record of a wait to its entry in the inbox of a page, painted, next to everything that waits already. */
export async function measureOnScreen({ client, startWaiting, runs }: WaitingOnScreen): Promise<number[]> {
  const server = await listen(createHandler(client, { studio: true, limits: false }), { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    // When the name of each user was first painted: an entry has one.
    await page.addInitScript(`
      window.painted = {};
      new MutationObserver(() => {
        for (const [user] of document.querySelector('.waiting')?.textContent.matchAll(/timed-\\d+-/g) ?? [])
          requestAnimationFrame(() => (window.painted[user] ??= Date.now()));
      }).observe(document, { subtree: true, childList: true, characterData: true });
    `);
    await page.goto(`${server.url}/studio#/inbox`);
    await page.locator('.waiting button').first().waitFor({ timeout: SHOWN_WITHIN_MS });
    const waits: number[] = [];
    for (let index = 0; index < runs; index += 1) {
      const user = `timed-${index}-`;
      const recorded = await startWaiting(user);
      const began = performance.now();
      let painted: unknown;
      while (painted === undefined) {
        if (performance.now() - began > SHOWN_WITHIN_MS) throw new Error(`The page has not shown what waits within ${SHOWN_WITHIN_MS} ms`);
        await page.waitForTimeout(50);
        painted = await page.evaluate(`window.painted['${user}']`);
      }
      // The clock is this machine's, and the record is rounded to it.
      waits.push(Math.max(0, Number(painted) - recorded));
    }
    return waits;
  } finally {
    await browser.close();
    await server.close(0);
  }
}
