import { expect, test } from 'vitest';
import { MAX_BODY_VALUES } from '../../../src/server/requests.ts';
import { documentOf } from '../checked-handler.ts';
import { checksOf, largeBodies, post, quietHandler, routesWithBody } from './generated-bodies.ts';

const routes = routesWithBody(await documentOf(quietHandler()));

/** The applications of schemas that one request may take: some for each of the most values that a body may have. */
const MOST_CHECKS = MAX_BODY_VALUES;

/** The characters of a refusal. */
const LONGEST_REFUSAL = 20_000;

test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  'a body of 1 MB of any shape takes a bounded number of checks: %s',
  async (_, route) => {
    const handler = quietHandler();
    for (const [name, body] of largeBodies(route)) {
      const { checks, result: response } = await checksOf(() => post(handler, route, body));
      const found = { name, status: response.status, checks, length: (await response.text()).length };
      expect(found).toSatisfy(() => found.checks < MOST_CHECKS && found.length < LONGEST_REFUSAL);
    }
  },
  // Some routes take a hundred bodies. The assertion is about the number of checks, not their time.
  120_000,
);
