// npm run demo:web: a Temporal server, a worker, and a page to chat with its clerk.
import { memoryStreams } from 'longhaul/client';
import { openai } from 'longhaul/worker';
import { EXIT_CODES, reportError } from '../../src/cli/exit-codes.ts';
import { Interruption } from '../../src/cli/terminal.ts';
import { clerk } from '../chat/agents.ts';
import { demoFlags, DemoSession } from '../demo/session.ts';
import { serveSite } from './site.ts';
import { typingModel } from './typing-model.ts';

const demoSession = new DemoSession('chat-web-demo');
const { terminal, output } = demoSession;

async function demo({ exit }: { exit: boolean }): Promise<number> {
  let site: Awaited<ReturnType<typeof serveSite>> | undefined;
  try {
    const { OPENAI_API_KEY: apiKey, PORT = '8788' } = terminal.env;
    output.print(apiKey ? 'OPENAI_API_KEY is set: using OpenAI' : 'No OPENAI_API_KEY: a scripted model answers');
    const provider = apiKey ? openai({ apiKey }) : typingModel();
    // Worker and page are one process: answers stream through its memory. With several, give all of them redisStreams({ url }).
    const client = await demoSession.start({ agents: [clerk], providers: { openai: provider }, streams: memoryStreams() });
    site = await serveSite(client, exit ? 0 : Number(PORT));
    output.print(`\nThe page is at ${site.url}, and that of a supervisor, who decides, at ${site.url}/desk`);
    if (!exit) await demoSession.stayUp();
    return EXIT_CODES.ok.code;
  } catch (error) {
    return error instanceof Interruption && site !== undefined ? EXIT_CODES.ok.code : reportError(error, terminal);
  } finally {
    site?.close();
    await demoSession.end();
  }
}

const given = demoFlags('demo:web');
const ended = given === undefined ? EXIT_CODES.usage.code : await demo(given);
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(ended);
