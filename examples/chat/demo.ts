// npm run demo:chat: a Temporal server, a worker, and a conversation with its clerk: on a terminal yours, otherwise a scripted one.
import { randomUUID } from 'node:crypto';
import type { LonghaulClient } from 'longhaul/client';
import { openai } from 'longhaul/worker';
import { EXIT_CODES, reportError } from '../../src/cli/exit-codes.ts';
import { Interruption, untilInterrupted } from '../../src/cli/terminal.ts';
import { chat } from '../../src/cli/chat/chat.ts';
import { demoFlags, DemoSession } from '../demo/session.ts';
import { clerk } from './agents.ts';
import { scriptedModel } from './scripted-model.ts';

/** Real models take longer to answer; without any pause there would be nothing to watch. */
const PAUSE_MS = 300;
const POLL_MS = 200;

const demoSession = new DemoSession('chat-demo');
const { terminal, output } = demoSession;

async function demo({ exit }: { exit: boolean }): Promise<number> {
  let exitCode: number | undefined;
  try {
    const { OPENAI_API_KEY: apiKey } = terminal.env;
    output.print(apiKey ? 'OPENAI_API_KEY is set: using OpenAI' : 'No OPENAI_API_KEY: a scripted model answers');
    const provider = apiKey ? openai({ apiKey }) : scriptedModel({ pauseMs: PAUSE_MS });
    const client = await demoSession.start({ agents: [clerk], providers: { openai: provider } });
    const isScripted = terminal.interactive === undefined || exit;
    const talk = isScripted ? scriptedTalk(client) : chat({ terminal, output }, chatFlags());
    exitCode = await untilInterrupted(terminal.signal, Promise.race([demoSession.failed, talk]));
    // The person can come back from another terminal.
    if (!isScripted) await demoSession.stayUp();
    return exitCode;
  } catch (error) {
    return error instanceof Interruption && exitCode !== undefined ? exitCode : reportError(error, terminal);
  } finally {
    await demoSession.end();
  }
}

/** The flags of `longhaul chat` for the server of the demo. */
function chatFlags(): Parameters<typeof chat>[1] {
  return { agent: clerk.name, taskQueue: 'chat-demo', ...demoSession.place };
}

/** Talks to the clerk in place of a person: asks, approves a refund, and closes the session. */
async function scriptedTalk(client: LonghaulClient): Promise<number> {
  const session = client.session(clerk, { id: `clerk-${randomUUID()}`, title: 'A broken lamp', taskQueue: 'chat-demo' });
  for (const message of ['Order 42 arrived broken.', 'What did I say first?']) {
    output.print(`\n${output.look('bold', `> ${message}`)}`);
    const asked = session.ask(message);
    const isOver = asked.then(() => true);
    while (!(await Promise.race([isOver, new Promise<false>((resolve) => setTimeout(resolve, POLL_MS, false))]))) {
      for (const waiting of (await session.run.approvals()).pending) {
        output.print(`  ann approves ${waiting.toolName} ${JSON.stringify(waiting.arguments)}`);
        await session.run.approve(waiting, { by: 'ann' });
      }
    }
    const { outputText, turn, status } = await asked;
    output.print(`${outputText}\n${output.look('dim', `(turn ${turn}: ${status})`)}`);
  }
  await session.close();
  const result = await session.run.result();
  output.print(`\n${result.summary()}`);
  return result.success ? 0 : 1;
}

const given = demoFlags('demo:chat');
const ended = given === undefined ? EXIT_CODES.usage.code : await demo(given);
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(ended);
