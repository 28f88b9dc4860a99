import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { costText, number, statusText } from '../../../studio/format.ts';
import { waitName } from '../../../studio/notes.ts';
import { callCli } from '../../cli/call-cli.ts';
import { matrixSample } from '../../matrix-sample.ts';
import { until } from '../testbed/testbed.ts';
import { SKIPPED, StudioTestbed } from './studio-testbed.ts';

/** Runs that are generated. A commit looks at a part of them. */
const RUNS = Number(process.env['STUDIO_RUNS'] ?? 200);

/** Runs that are started at once. */
const AT_ONCE = 20;

/** A run to start: answers, calls, failures, children, handoffs, flows, limits, waits, programs, sessions, cancellations. */
interface Generated {
  kind: 'agent' | 'program' | 'session';
  name: string;
  input: string;
  cancel?: true;
}

/** Returns the run of a number. The same number is the same run in every process. */
function generated(index: number): Generated {
  const shapes: ((size: number) => Generated)[] = [
    (size) => agent('clerk', `many steps ${size % 12}`),
    () => agent('clerk', 'My lamp arrived broken.'),
    (size) => agent('parrot', JSON.stringify({ args: { size, text: 'x'.repeat(size * 20) }, say: 'Done' })),
    (size) => agent('parrot', JSON.stringify({ args: {}, tool: `no_such_tool_${size}`, say: 'y' })),
    () => agent('desk', 'Hello'),
    () => agent('article', 'Write'),
    (size) => agent('limited', `many steps ${size % 5}`),
    () => agent('asker', 'Paint it'),
    () => agent('forgetful', 'What is the price on page 1?'),
    () => ({ kind: 'program', name: 'letter', input: '' }),
    (size) => ({ kind: 'session', name: 'clerk', input: `many steps ${size % 3}` }),
    () => ({ ...agent('clerk', 'My lamp arrived broken.'), cancel: true }),
    () => agent('clerk', 'Pay twice'),
  ];
  const shape = shapes[index % shapes.length] ?? (() => agent('clerk', 'Hello'));
  return shape(Math.floor(index / shapes.length));
}

function agent(name: string, input: string): Generated {
  return { kind: 'agent', name, input };
}

/** Reads what the page says about a run: the facts, the descendants, and what waits. */
const READ = `({
  facts: Object.fromEntries([...document.querySelectorAll('aside .facts > div')].map((one) => [one.querySelector('dt').textContent, one.querySelector('dd').textContent])),
  status: document.querySelector('header.title .status')?.textContent,
  below: [...document.querySelectorAll('aside .branch li')].map((one) => [one.querySelector('a').textContent, one.querySelector('.status').textContent, one.querySelector('.dim').textContent]),
  waiting: [...document.querySelectorAll('.approvals .decision h2')].map((one) => one.textContent),
})`;

interface Tree {
  agentName: string;
  status: string;
  treeUsage: { totalTokens: number; llmCalls: number; costUsd?: number };
  children: Tree[];
}

/** What the command line says of a run, in the words of the page. */
interface Said {
  facts: Record<string, string>;
  status: string;
  below: string[][];
  waiting: string[];
}

describe.skipIf(SKIPPED !== '')(`what Studio and the command line say of runs${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  beforeAll(async () => {
    studio = await StudioTestbed.open();
  }, 120_000);
  afterAll(async () => studio?.[Symbol.asyncDispose]());

  async function start({ kind, name, input, cancel }: Generated): Promise<string> {
    const { client } = studio;
    if (kind === 'program') return (await client.startProgram(name, {})).runId;
    if (kind === 'session') {
      const session = client.session(name, { id: `session-${randomUUID()}` });
      await session.ask(input);
      return session.id;
    }
    const run = await client.start(name, { input });
    if (cancel) {
      await until(async () => (await run.approvals()).pending.length === 1, 'the call waits', 60);
      await run.cancel('seen');
    }
    return run.runId;
  }

  async function cli<Answer>(...args: string[]): Promise<Answer> {
    const { address, client } = studio.testbed;
    const where = ['--address', address, '--namespace', client.temporal.options.namespace];
    const { exitCode, stdout, stderr } = await callCli([...args, '--json', ...where]);
    expect([exitCode, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as Answer;
  }

  async function saidOf(runId: string): Promise<Said> {
    const [view, tree, approvals] = await Promise.all([
      cli<{ status: string; stepsUsed: number; limits: { steps: number } | null; toolCallsTotal: number }>('show', runId),
      cli<Tree>('tree', runId),
      cli<{ pending: { toolName: string }[] }>('approvals', runId),
    ]);
    const below = (of: Tree): string[][] =>
      of.children.flatMap((child) => [
        [child.agentName, statusText(child.status), `${number(child.treeUsage.totalTokens)} tokens`],
        ...below(child),
      ]);
    const all = below(tree);
    const limit = view.limits === null ? '' : ` / ${number(view.limits.steps)}`;
    const withRuns = all.length === 0 ? '' : ` with ${all.length} run${all.length === 1 ? '' : 's'} below`;
    return {
      facts: {
        Steps: `${number(view.stepsUsed)}${limit}`,
        Tokens: `${number(tree.treeUsage.totalTokens)}${withRuns}`,
        Cost: tree.treeUsage.llmCalls === 0 ? '' : costText(tree.treeUsage.costUsd),
        'Tool calls': number(view.toolCallsTotal),
      },
      status: statusText(view.status),
      below: all,
      waiting: approvals.pending.map(({ toolName }) => waitName(toolName)).toSorted(),
    };
  }

  test('both have the same numbers of generated runs, in every state', async () => {
    const chosen = matrixSample(Array.from({ length: RUNS }, (_, index) => generated(index)));
    const ids: string[] = [];
    for (let begun = 0; begun < chosen.length; begun += AT_ONCE)
      ids.push(...(await Promise.all(chosen.slice(begun, begun + AT_ONCE).map(start))));
    // Until nothing changes any more: the compared values are read at several moments.
    await expect
      .poll(
        async () =>
          (await Promise.all(ids.map((id) => studio.client.handle(id).status()))).filter(({ status }) => status === 'running').length,
        {
          timeout: 120_000,
          interval: 500,
        },
      )
      .toBe(0);
    const page = await studio.page();
    const seen = new Set<string>();
    for (const [index, id] of ids.entries()) {
      const expected = await saidOf(id);
      seen.add(expected.status);
      await page.goto(`${studio.url}#/runs/${encodeURIComponent(id)}`);
      const read = async (): Promise<Said> => {
        const { facts, waiting, ...rest } = (await page.evaluate(READ)) as Said;
        const named = Object.fromEntries(Object.keys(expected.facts).map((name) => [name, facts[name] ?? '']));
        return { facts: named, ...rest, waiting: waiting.toSorted() };
      };
      await expect.poll(read, { timeout: 40_000, message: JSON.stringify(chosen[index]) }).toEqual(expected);
    }
    expect([...seen]).toEqual(expect.arrayContaining(['waiting', 'completed']));
    // The inbox has what waits in all of them, as the command lists it.
    const { address, client } = studio.testbed;
    const where = ['--address', address, '--namespace', client.temporal.options.namespace];
    const listed = (await callCli(['approvals', '--json', '--tenant', studio.tenant, ...where])).stdout.trim().split('\n');
    await page.goto(`${studio.url}#/inbox`);
    await expect.poll(() => page.locator('.waiting li').count(), { timeout: 40_000 }).toBe(listed.length);
    expect(studio.problems).toEqual([]);
  }, 600_000);
});
