import type { Model } from 'openai/resources/models';
import { z } from 'zod';
import { type Caller, mayStart } from '../../auth/caller.ts';
import { nearestStartable } from '../../requests.ts';
import { defineRoute, type Route } from '../../route.ts';
import { jsonObject } from '../../schemas/values.ts';
import type { ServerSettings } from '../../server-options.ts';
import { chatRoute } from './chat-completions.ts';
import { modelNotFound } from './errors.ts';
import { createResponseRoute, RESPONSE_ROUTES } from './responses.ts';

const modelRoute = {
  method: 'GET',
  tag: 'agents',
  scope: 'runs:read',
  responses: { 200: { description: 'As the OpenAI protocol has it.', schema: jsonObject } },
  problems: [],
} as const;

const listModelsRoute = defineRoute(
  { ...modelRoute, path: '/v1/models', id: 'listModels', summary: 'List the agents as models' },
  async ({ caller, settings }) => ({ status: 200, body: { object: 'list', data: modelsOf(settings, caller) } }),
);

const getModelRoute = defineRoute(
  {
    ...modelRoute,
    path: '/v1/models/{model}',
    id: 'getModel',
    summary: 'Read an agent as a model',
    params: z.object({ model: z.string().min(1) }),
  },
  async ({ params: { model }, caller, settings }) => {
    const found = modelsOf(settings, caller).find(({ id }) => id === model);
    if (found === undefined) throw modelNotFound(model, {}, nearestStartable(settings.agents, caller, model));
    return { status: 200, body: found };
  },
);

const MODEL_ROUTES: readonly Route[] = [listModelsRoute, getModelRoute];

/** The routes of the OpenAI protocol. They are not in the OpenAPI document: OpenAI defines their shapes. */
export const OPENAI_ROUTES: readonly Route[] = [...MODEL_ROUTES, chatRoute, createResponseRoute, ...RESPONSE_ROUTES];

/** The parts of the OpenAI API after `/v1`, also those that the service lacks: clients of that API read refusals in its form only. */
const PARTS =
  'models chat responses completions conversations embeddings moderations images audio videos realtime files uploads batches fine_tuning ' +
  'vector_stores containers evals assistants threads organization';

const PATH = new RegExp(`^/v1/(?:${PARTS.replaceAll(' ', '|')})(?:/|$)`);

/** True for a path of the protocol, without the prefix of the service: its errors have the protocol's form. */
export function isOpenaiPath(path: string): boolean {
  return PATH.test(path);
}

/** Returns the agents that a caller may start. An agent has no creation time. */
function modelsOf({ agents }: ServerSettings, caller: Caller): Model[] {
  const startable = agents.filter(({ name }) => mayStart(caller, name));
  return startable.map(({ name }) => ({ id: name, object: 'model', created: 0, owned_by: 'longhaul' }));
}
