import { fileURLToPath } from 'node:url';
import { defineAgent, mcpServer } from 'longhaul';

/** The folder that the server may read. */
export const reports = fileURLToPath(new URL('./reports', import.meta.url));

/** A server from npm, started as a process by whichever worker needs it. */
const files = mcpServer({
  name: 'files',
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js')), reports],
  tools: { include: ['list_directory', 'read_text_file', 'write_file'] },
  // Reading is free; what changes a file waits for a person.
  approval: ({ tool, args }) => tool === 'write_file' && { reason: `would write ${JSON.stringify(args['path'])}` },
});

export const reporter = defineAgent({
  name: 'reporter',
  model: `openai/${process.env['OPENAI_MODEL'] ?? 'gpt-5-mini'}`,
  instructions: `You answer questions about the monthly reports, which are text files in ${reports}.`,
  mcp: [files],
});

export const agents = [reporter];
