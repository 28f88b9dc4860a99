// npm run demo:desk [-- --exit]: runs a tree of agents on a Temporal server, reports what happens, and decides at its root.
import type { RunHandle, RunResult } from 'longhaul/client';
import { openai } from 'longhaul/worker';
import { EXIT_CODES, reportError } from '../../src/cli/exit-codes.ts';
import { Interruption, untilInterrupted } from '../../src/cli/terminal.ts';
import { eventLines } from '../../src/cli/render/event-lines.ts';
import { treeLines } from '../../src/cli/render/tree-lines.ts';
import { demoFlags, DemoSession, quietly } from '../demo/session.ts';
import { refundDesk, triage } from './agents.ts';
import { scriptedModel } from './scripted-model.ts';

/** Real models take longer to answer; without any pause there would be nothing to watch. */
const PAUSE_MS = 300;
const POLL_MS = 200;

const session = new DemoSession('support-desk');
const { terminal, output } = session;
const { signal, env, stdout } = terminal;

async function demo({ exit }: { exit: boolean }): Promise<number> {
  let run: RunHandle | undefined;
  let result: RunResult | undefined;
  try {
    const { OPENAI_API_KEY: apiKey } = env;
    output.print(apiKey ? 'OPENAI_API_KEY is set: using OpenAI' : 'No OPENAI_API_KEY: a scripted model answers');
    const provider = apiKey ? openai({ apiKey }) : scriptedModel({ pauseMs: PAUSE_MS });
    const client = await session.start({ agents: [triage, refundDesk], providers: { openai: provider } });
    run = await client.start(triage, { input: 'My lamp arrived broken. I want my money back. It is order 42.' });
    output.print(`Run "${run.runId}" has begun\n`);
    const ended = run.result({ signal });
    const printed = new Set<string>();
    const told = Promise.all([printEvents(run, printed), decide(run, printed, ended)]);
    await untilInterrupted(signal, Promise.race([session.failed, told]));
    result = await ended;
    await printResult(run, result);
    // Without a terminal there is no reader of the UI, and no Ctrl-C.
    if (!exit && stdout.isTTY === true) await session.stayUp();
    return result.success ? 0 : 1;
  } catch (error) {
    return error instanceof Interruption && result?.success ? 0 : reportError(error, terminal);
  } finally {
    if (result === undefined) await quietly(run?.cancel('the demo was ended').then(() => undefined));
    await session.end();
  }
}

/** Prints the events of all runs of the tree, and adds the ids of the calls in them to `printed`. */
async function printEvents(run: RunHandle, printed: Set<string>): Promise<void> {
  let startedAt: string | undefined;
  for await (const event of run.events({ tree: true, follow: true, signal })) {
    startedAt ??= event.timestamp;
    const width = stdout.isTTY === true ? stdout.columns : undefined;
    const options = { startedAt, look: output.look.bind(output), maxLines: 4, ...(width === undefined ? {} : { width }) };
    for (const line of eventLines(event, options)) output.print(line);
    for (const item of event.content) if (item.type === 'tool_call') printed.add(item.toolCallId);
  }
}

/** Decides as an approver, at the root, about all calls that wait in the tree, once a reader has seen them. */
async function decide(run: RunHandle, printed: ReadonlySet<string>, ended: Promise<unknown>): Promise<void> {
  const isOver = ended.then(() => true);
  for (;;) {
    for (const waiting of (await run.approvals()).pending) {
      if (!printed.has(waiting.callId)) continue;
      const lines = treeLines(await run.tree(), output);
      for (const line of ['', output.look('bold', 'The tree while it waits'), ...lines, '']) output.print(line);
      await run.approve(waiting, { by: 'ann' });
    }
    if (await Promise.race([isOver, new Promise<false>((resolve) => setTimeout(resolve, POLL_MS, false))])) return;
  }
}

async function printResult(run: RunHandle, result: RunResult): Promise<void> {
  output.print(`\n${output.look('bold', 'The tree at its end')}`);
  for (const line of treeLines(await run.tree(), output)) output.print(line);
  output.print(`\n${result.error === null ? result.outputText : output.look('red', result.error)}\n\n${result.summary()}`);
  const link = await session.link(run.runId);
  if (link !== undefined) output.print(`In the Temporal UI: ${output.look('cyan', link)}`);
}

const given = demoFlags('demo:desk');
const exitCode = given === undefined ? EXIT_CODES.usage.code : await demo(given);
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(exitCode);
