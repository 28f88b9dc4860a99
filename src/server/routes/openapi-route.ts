import { openapiDocument } from '../openapi/openapi-document.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { jsonObject } from '../schemas/json.ts';

/** Returns the route of the document that describes these routes, and itself. It is made once, when it is asked for first. */
export function openapiRoute(routes: readonly Route[]): Route {
  let document: Record<string, unknown> | undefined;
  const route: Route = defineRoute(
    {
      method: 'GET',
      path: '/v1/openapi.json',
      id: 'getOpenapi',
      tag: 'server',
      summary: 'Read the OpenAPI document of the service',
      scope: 'public',
      responses: { 200: { description: 'The document.', schema: jsonObject } },
      problems: [],
    },
    async ({ settings: { prefix } }) => ({ status: 200, body: (document ??= openapiDocument([...routes, route], prefix)) }),
  );
  return route;
}
