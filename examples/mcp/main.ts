// Runs the agent once, with its own worker, on the Temporal server at TEMPORAL_ADDRESS (npx longhaul dev starts one).
// With OPENAI_API_KEY a real model answers, without it a script.
import { connect } from 'longhaul/client';
import { createWorker, openai } from 'longhaul/worker';
import { callTool, say, scriptedModel } from 'longhaul/testing';
import { agents, reporter, reports } from './agents.ts';

const script = [callTool('read_text_file', { path: `${reports}/january.txt` }), say('1,204 orders came in January.')];
const model = process.env['OPENAI_API_KEY'] === undefined ? scriptedModel(script) : openai();

const client = await connect();
const worker = await createWorker({ agents, providers: { openai: model }, taskQueue: 'mcp-example' });
const running = worker.run();
const result = await client.run(reporter, { input: 'How many orders came in January?', taskQueue: 'mcp-example' });
for (const { toolCalls } of await client.handle(result.runId).steps()) {
  for (const { toolName, result: text } of toolCalls) console.log(`${toolName}: ${text}`);
}
console.log(result.output);
worker.shutdown();
await running;
await client.close();
