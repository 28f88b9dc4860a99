import { z } from 'zod';
import { within } from '../../streams/waits.ts';
import { defineRoute, type Route } from '../route.ts';
import { component } from '../schemas/values.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { ReadinessCheck } from '../server-options.ts';

/** The time that each part of the service has to answer. */
const CHECK_MS = 2_000;

/** How long the outcome of the checks is valid, in milliseconds. */
const REMEMBERED_MS = 500;

type Checks = Readonly<Record<string, ReadinessCheck>>;

/** `degraded`: the part does not answer, and the service works without it. */
const STATES = ['ok', 'failed', 'degraded'] as const;

/** The parts of the service, each by its name, and if they have answered. */
type States = (readonly [string, (typeof STATES)[number]])[];

const alive = component('Alive', z.object({ status: z.literal('alive') }));

const readiness = component(
  'Readiness',
  z.object({
    status: z.enum(['ready', 'not_ready', 'shutting_down']),
    checks: z.record(z.string(), z.enum(STATES)),
  }),
);

/** Answers as long as the process runs. */
const livez = defineRoute(
  {
    method: 'GET',
    path: '/livez',
    id: 'getLiveness',
    tag: 'server',
    summary: 'Check that the process runs',
    scope: 'public',
    responses: { 200: { description: 'It runs.', schema: alive } },
    problems: [],
  },
  async () => ({ status: 200, body: { status: 'alive' } }),
);

/** Returns the routes that report the state of the process. They need no credentials, and reveal no causes. */
export function stateRoutes(client: LonghaulClient): readonly Route[] {
  const own = { temporal: () => reachTemporal(client), streams: () => client.checkStreams() };
  // Without the sink, only live output is missing: no instance of the service would be better off out of rotation.
  const isRequired = (name: string, checks: Checks): boolean => name !== 'streams' || Object.hasOwn(checks, name);
  let last: { at: number; states: Promise<States> } | undefined;
  // Anyone may ask, as often as they like.
  const checked = (checks: Checks): Promise<States> => {
    if (last === undefined || performance.now() - last.at >= REMEMBERED_MS) {
      const all = Object.entries<Checks[string]>({ ...own, ...checks });
      const stateOfPart = async ([name, check]: (typeof all)[number]): Promise<States[number]> =>
        [name, (await answers(check)) ? 'ok' : isRequired(name, checks) ? 'failed' : 'degraded'] as const;
      last = { at: performance.now(), states: Promise.all(all.map(stateOfPart)) };
    }
    return last.states;
  };
  const readyz = defineRoute(
    {
      method: 'GET',
      path: '/readyz',
      id: 'getReadiness',
      tag: 'server',
      summary: 'Check whether the service can take requests',
      scope: 'public',
      responses: {
        200: {
          description: 'It can. A part that is `degraded` does not answer: without `streams`, live output is missing.',
          schema: readiness,
        },
        503: { description: 'A part that it needs does not answer, or the process is about to end.', schema: readiness },
      },
      problems: [],
    },
    async ({ settings: { checks, isEnding } }) => {
      const states = await checked(checks);
      const status = isEnding() ? 'shutting_down' : states.some(([, state]) => state === 'failed') ? 'not_ready' : 'ready';
      return { status: status === 'ready' ? 200 : 503, body: { status, checks: Object.fromEntries(states) } };
    },
  );
  return [livez, readyz];
}

async function reachTemporal({ temporal }: LonghaulClient): Promise<void> {
  await temporal.withDeadline(Date.now() + CHECK_MS, () =>
    temporal.workflowService.describeNamespace({ namespace: temporal.options.namespace }),
  );
}

async function answers(check: ReadinessCheck): Promise<boolean> {
  try {
    await within(CHECK_MS, (async () => check())(), () => new Error('the part has not answered in time'));
    return true;
  } catch {
    return false;
  }
}
