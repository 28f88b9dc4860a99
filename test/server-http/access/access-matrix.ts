import { type Scope, SCOPES } from '../../../src/server/auth/caller.ts';

/** A route as far as access to it goes. The definitions of the routes of the service have these members. */
export interface GuardedRoute {
  method: string;
  /** `/v1/runs/{runId}`. */
  path: string;
  scope: Scope | 'public';
}

/** The situations in which a request is not that of the rightful caller. */
export const SITUATIONS = [
  'no credentials',
  'wrong credentials',
  'expired',
  'revoked',
  'missing scope',
  'foreign tenant',
  'run token for another run',
] as const;

type Situation = (typeof SITUATIONS)[number];

/** One cell of the matrix. `rightful` is the request that must not be refused: without it, a service that refuses everything would pass. */
export interface AccessCase {
  route: GuardedRoute;
  situation: Situation | 'rightful';
}

/** A service with runs, sessions and programs of one principal, and credentials for each situation. */
export interface AccessWorld {
  fetch: (request: Request) => Promise<Response>;
  /** The values of the parameters of paths that name something of the principal, by the name of the parameter. */
  owned: Readonly<Record<string, string>>;
  /** The values of the other parameters, such as names of agents. */
  others: Readonly<Record<string, string>>;
  /** Returns the rest of a good request to a route: its body and headers. */
  requestOf: (route: GuardedRoute) => { body?: string; headers?: Record<string, string>; query?: string };
  /** Credentials of the principal with these scopes. */
  rightful: (scopes: readonly Scope[]) => string;
  /** Credentials with all scopes for each of these situations. */
  credentials: Readonly<Record<Exclude<Situation, 'no credentials' | 'missing scope'>, string>>;
}

/** Returns all cells for routes. A public route has one: it answers without credentials. */
export function accessCases(routes: readonly GuardedRoute[]): AccessCase[] {
  return routes.flatMap((route) => {
    const situations: readonly AccessCase['situation'][] = route.scope === 'public' ? ['no credentials'] : ['rightful', ...SITUATIONS];
    return situations.map((situation) => ({ route, situation }));
  });
}

/** Sends the request of a cell, and returns what is wrong with the response; empty if it is as it must be. */
export async function accessProblems(world: AccessWorld, { route, situation }: AccessCase): Promise<string[]> {
  const response = await world.fetch(requestFor(world, route, credentialsFor(world, route, situation), world.owned));
  const { status } = response;
  const text = await textOf(response);
  const expected = (statuses: readonly number[]): string[] =>
    statuses.includes(status) ? [] : [`answers with ${status}, and not with ${statuses.join(' or ')}`];
  if (route.scope === 'public') return status === 401 || status === 403 ? [`answers with ${status} without credentials`] : [];
  switch (situation) {
    case 'rightful':
      return [401, 403, 404].includes(status) ? [`refuses the rightful caller with ${status}: ${text}`] : [];
    case 'no credentials':
    case 'wrong credentials':
    case 'expired':
    case 'revoked':
      return [...expected([401]), ...(response.headers.has('www-authenticate') ? [] : ['has no WWW-Authenticate']), ...leaks(world, text)];
    case 'missing scope':
      return [...expected([403]), ...leaks(world, text)];
    case 'run token for another run':
      return [...expected([403, 404]), ...leaks(world, text)];
    case 'foreign tenant':
      return [...(namesOwned(world, route) ? await foreignProblems(world, route, { status, text }) : []), ...leaks(world, text)];
  }
}

/** A foreign thing looks like one that does not exist: the same status, and the same answer but for what names the occurrence. */
async function foreignProblems(world: AccessWorld, route: GuardedRoute, foreign: { status: number; text: string }): Promise<string[]> {
  const nothing = Object.fromEntries(Object.keys(world.owned).map((name) => [name, 'no-such-thing']));
  const response = await world.fetch(requestFor(world, route, world.credentials['foreign tenant'], nothing));
  const text = await textOf(response);
  return [
    ...(foreign.status === 404 ? [] : [`answers a foreign tenant with ${foreign.status}, and not with 404`]),
    ...(response.status === foreign.status
      ? []
      : [`answers with ${response.status} for what does not exist, and ${foreign.status} for a foreign one`]),
    ...(comparable(text) === comparable(foreign.text)
      ? []
      : [`tells a foreign thing from one that does not exist: ${foreign.text} / ${text}`]),
  ];
}

function namesOwned({ owned }: AccessWorld, { path }: GuardedRoute): boolean {
  return Object.keys(owned).some((name) => path.includes(`{${name}}`));
}

/** A refusal must not repeat the ids of the principal, also not one that the caller has sent. */
function leaks({ owned }: AccessWorld, text: string): string[] {
  return Object.entries(owned).flatMap(([name, id]) =>
    text.includes(id) ? [`has the "${name}" of another caller in its body: ${text}`] : [],
  );
}

function comparable(text: string): string {
  return text.replaceAll(/urn:uuid:[\w-]+/g, 'urn:uuid');
}

function credentialsFor(world: AccessWorld, { scope }: GuardedRoute, situation: AccessCase['situation']): string | undefined {
  if (situation === 'no credentials') return undefined;
  if (situation === 'rightful') return world.rightful(scope === 'public' ? [] : [scope]);
  // `admin` includes all others.
  if (situation === 'missing scope') return world.rightful(SCOPES.filter((one) => one !== scope && one !== 'admin'));
  return world.credentials[situation];
}

function requestFor(
  world: AccessWorld,
  route: GuardedRoute,
  credentials: string | undefined,
  owned: Readonly<Record<string, string>>,
): Request {
  const values: Readonly<Record<string, string>> = { ...world.others, ...owned };
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(valueOf(values, name, route)));
  const { body, headers = {}, query = '' } = world.requestOf(route);
  return new Request(`http://localhost${path}${query}`, {
    method: route.method,
    headers: { ...headers, ...(credentials === undefined ? {} : { authorization: `Bearer ${credentials}` }) },
    ...(body === undefined ? {} : { body }),
  });
}

function valueOf(values: Readonly<Record<string, string>>, name: string, { path }: GuardedRoute): string {
  const value = values[name];
  if (value === undefined) throw new Error(`${path} has the parameter "${name}": give the matrix a value for it`);
  return value;
}

/** Reads the beginning of a body: a stream may not end by itself. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}
