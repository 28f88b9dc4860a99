// npm run demo:program [-- --exit]: runs a program on a Temporal server, reports what happens, and decides as its reviewer.
import type { ProgramHandle, ProgramResult } from 'longhaul/client';
import { openai } from 'longhaul/worker';
import { EXIT_CODES, reportError } from '../../src/cli/exit-codes.ts';
import { Interruption, untilInterrupted } from '../../src/cli/terminal.ts';
import { eventLines } from '../../src/cli/render/event-lines.ts';
import { traceLines } from '../../src/cli/render/tree-lines.ts';
import { demoFlags, DemoSession, quietly } from '../demo/session.ts';
import { CONTRACTS } from './contracts.ts';
import { anchors, renewals } from './renewals.ts';
import { scriptedModel } from './scripted-model.ts';

/** Real models take longer to answer; without any pause there would be nothing to watch. */
const PAUSE_MS = 300;
const POLL_MS = 200;

const session = new DemoSession('renewals-demo');
const { terminal, output } = session;
const { signal, env, stdout } = terminal;

async function demo({ exit }: { exit: boolean }): Promise<number> {
  let run: Run | undefined;
  let result: ProgramResult<unknown> | undefined;
  try {
    const { OPENAI_API_KEY: apiKey } = env;
    output.print(apiKey ? 'OPENAI_API_KEY is set: using OpenAI' : 'No OPENAI_API_KEY: a scripted model answers');
    const provider = apiKey ? openai({ apiKey }) : scriptedModel({ pauseMs: PAUSE_MS });
    const client = await session.start({ agents: [], programs: [renewals], anchors, providers: { openai: provider } });
    run = await client.startProgram(renewals, { input: { contracts: CONTRACTS } });
    output.print(`Run "${run.runId}" of program "renewals" has begun: three contracts are read at once\n`);
    const reading = Promise.all([printEvents(run), review(run)]);
    await untilInterrupted(signal, Promise.race([session.failed, reading]));
    result = await run.result({ signal });
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

type Run = ProgramHandle<unknown>;

async function printEvents(run: Run): Promise<void> {
  let begin: string | undefined;
  for await (const event of run.events({ follow: true, signal })) {
    const startedAt = (begin ??= event.timestamp);
    const width = stdout.isTTY === true ? stdout.columns : undefined;
    const options = { startedAt, look: output.look.bind(output), maxLines: 4, ...(width === undefined ? {} : { width }) };
    // The input is long, and every step has an event of its beginning.
    if (event.author === 'user' || (event.step?.type === 'start' && event.content.length === 0)) continue;
    for (const line of eventLines(event, options)) output.print(line);
  }
}

/** Decides about the letter as a careful reviewer: the first draft lacks something, and the next one is accepted. */
async function review(run: Run): Promise<void> {
  let drafts = 0;
  for (;;) {
    const { pending, status } = await run.approvals();
    if (!['running', 'pending_confirmation'].includes(status)) return;
    for (const letter of pending) {
      drafts += 1;
      if (drafts === 1) await run.reject(letter, { by: 'ann', reason: 'Name the date on which the contract ends' });
      else await run.approve(letter, { by: 'ann' });
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function printResult(run: Run, result: ProgramResult<unknown>): Promise<void> {
  output.print(`\n${output.look('bold', 'The trace of the run')}`);
  for (const line of traceLines(await run.trace(), output)) output.print(line);
  const text = result.error === null ? JSON.stringify(result.output, null, 2) : output.look('red', result.error);
  output.print(`\n${text}\n\n${result.summary()}`);
  const link = await session.link(run.runId);
  if (link !== undefined) output.print(`In the Temporal UI: ${output.look('cyan', link)}`);
}

const given = demoFlags('demo:program');
const exitCode = given === undefined ? EXIT_CODES.usage.code : await demo(given);
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(exitCode);
