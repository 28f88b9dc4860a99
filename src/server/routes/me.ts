import { z } from 'zod';
import { defined } from '../../core/domain/json.ts';
import { identityOf } from '../../core/domain/run.ts';
import { isoTime } from '../../core/domain/time.ts';
import { installedVersion } from '../../temporal/installed-sdk.ts';
import { SCOPES } from '../auth/caller.ts';
import { defineRoute, ok } from '../route.ts';
import { component, timestamp } from '../schemas/values.ts';

const me = component(
  'Me',
  z.object({
    id: z.string().describe('The name of the caller in logs: the id of an API key, or the subject of a token.'),
    name: z.string().exactOptional().describe('The name that people know it by, such as the name of an API key. Absent: it has none.'),
    scopes: z.array(z.enum(SCOPES)),
    principal: z
      .union([z.literal('all'), z.object({ tenant: z.string().exactOptional(), user: z.string().exactOptional() })])
      .describe('The identity on whose behalf the caller acts: it can access only runs of this tenant and user. `all`: every run.'),
    agents: z.array(z.string()).exactOptional().describe('The agents and programs that it may start. Absent: all.'),
    runId: z.string().exactOptional().describe('The only run that it reaches: its credentials are a token for one run. Absent: all.'),
    expiresAt: timestamp.exactOptional().describe('When its credentials expire. Absent: never.'),
    features: z.object({
      tokens: z.boolean().describe('The service makes tokens for one run.'),
      agents: z.boolean().describe('The service lists agents, and starts no others.'),
      wire: z.boolean().describe('The service has providers of models: it shows the body of a request.'),
    }),
    versions: z.object({
      longhaul: z.string().exactOptional().describe('Absent: the service is a bundle, which has no package to read it from.'),
      node: z.string(),
    }),
    namespace: z.string().describe('The Temporal namespace.'),
    uiUrl: z.string().exactOptional().describe('The web interface of Temporal. Absent: the service does not know it.'),
  }),
);

/** Returns the caller's identity, and what the service offers to it. */
export const meRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/me',
    id: 'getMe',
    tag: 'server',
    summary: 'Read who the caller is, and what the service offers',
    scope: 'runs:read',
    isOfCaller: true,
    responses: ok(me, 'The caller and the service.'),
    problems: [],
  },
  async ({ caller, client, settings }) => {
    const { id, name, scopes, principal, agents, runId, expiresAt } = caller;
    // A token for one run makes no others, and lists nothing.
    const isOfRun = runId !== undefined;
    return {
      status: 200,
      body: {
        id,
        ...defined({ name }),
        scopes: [...scopes],
        principal: principal === 'all' ? principal : identityOf(principal),
        ...(agents === undefined ? {} : { agents: [...agents] }),
        ...defined({ runId }),
        ...(expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) }),
        features: {
          tokens: settings.tokens !== undefined && !isOfRun,
          agents: settings.agents.length > 0 && !isOfRun,
          wire: Object.keys(settings.providers).length > 0,
        },
        versions: { ...defined({ longhaul: installedVersion('longhaul') }), node: process.versions.node },
        namespace: client.temporal.options.namespace,
        // A run token may belong to somebody outside.
        ...defined({ uiUrl: isOfRun ? undefined : settings.uiUrl }),
      },
    };
  },
);
