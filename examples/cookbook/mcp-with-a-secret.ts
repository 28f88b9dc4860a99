// Tools of an MCP server behind a token: the worker reads the token when it connects; no history, prompt or log has it.
import { defineAgent, mcpServer, secret } from 'longhaul';

export const crm = mcpServer({
  name: 'crm',
  url: process.env['CRM_URL'] ?? 'https://crm.example.com/mcp',
  headers: { authorization: secret('crm-token', { prefix: 'Bearer ' }) }, // CRM_TOKEN of the worker, a file, or your vault
  tools: { include: ['find_deal', 'close_deal'] }, // whatever else the server offers is not there for the model
  approval: ({ tool, args }) => tool === 'close_deal' && { reason: `closes deal ${JSON.stringify(args['id'])}`, deadline: '2d' },
  effect: (tool) => (tool === 'find_deal' ? 'idempotent' : 'once'), // a lost call of close_deal is not made again
  timeout: '20s',
});

export const seller = defineAgent({
  name: 'seller',
  model: 'openai/gpt-5-mini',
  instructions: 'You look after deals. Close one only if the customer has agreed.',
  mcp: [crm],
});
