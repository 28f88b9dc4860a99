// An agent for another team: they call it over HTTP from Python, with a key, and need no Temporal and no package of Longhaul.
import { createServer, type Server } from 'node:http';
import { defineAgent } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import { apiKeys, type ApiKeyStore, createHandler, nodeListener } from 'longhaul/server';
import { z } from 'zod';

export const rater = defineAgent({
  name: 'rater',
  model: 'openai/gpt-5-mini',
  instructions: 'Rate the risk of the order.',
  description: 'Rates the risk of an order from its text',
  output: z.object({ risk: z.enum(['low', 'high']), reason: z.string() }),
});

/**
 * The service. A key belongs to a team (`longhaul keys create --tenant risk --scope runs:read --scope runs:write`): it reaches the runs of that
 * tenant alone, and starts only the agents that it names. called-from-python.py is the other side.
 */
export function serviceFor(client: LonghaulClient, keys: ApiKeyStore): Server {
  const handler = createHandler(client, { agents: [rater], authenticate: apiKeys(keys) });
  return createServer(nodeListener(handler));
}
