import type { Model } from 'openai/resources/models';
import { z } from 'zod';
import { mayStart } from '../../../auth/access/reach.ts';
import type { Caller } from '../../../auth/caller.ts';
import { defineRoute, type Route } from '../../../routing/route.ts';
import { jsonObject } from '../../../schemas/json.ts';
import type { ServerSettings } from '../../../server-settings.ts';
import { modelNotFound } from '../errors/openai-refusal.ts';

const common = {
  method: 'GET',
  tag: 'agents',
  scope: 'runs:read',
  responses: { 200: { description: 'As the OpenAI protocol has it.', schema: jsonObject } },
  problems: [],
} as const;

const listModels = defineRoute(
  { ...common, path: '/v1/models', id: 'listModels', summary: 'List the agents as models' },
  async ({ caller, settings }) => ({ status: 200, body: { object: 'list', data: modelsOf(settings, caller) } }),
);

const retrieve = defineRoute(
  {
    ...common,
    path: '/v1/models/{model}',
    id: 'getModel',
    summary: 'Read an agent as a model',
    params: z.object({ model: z.string().min(1) }),
  },
  async ({ params: { model }, caller, settings }) => {
    const found = modelsOf(settings, caller).find(({ id }) => id === model);
    if (found === undefined) throw modelNotFound(model);
    return { status: 200, body: found };
  },
);

/** Returns the agents that a caller may start. An agent has no time of its own. */
function modelsOf({ agents }: ServerSettings, caller: Caller): Model[] {
  const startable = agents.filter(({ name }) => mayStart(caller, name));
  return startable.map(({ name }) => ({ id: name, object: 'model', created: 0, owned_by: 'longhaul' }));
}

/** The routes of models. */
export const MODEL_ROUTES: readonly Route[] = [listModels, retrieve];
