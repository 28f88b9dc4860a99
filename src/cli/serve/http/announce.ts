import type { CommandIo } from '../../program/command.ts';
import type { AgentsModule } from '../agents-module.ts';

/** A service that listens. */
export interface Announced {
  server: { url: string };
  /** The Temporal server that it talks to. */
  connected: { server: { address: string; namespace: string } };
  flags: { prefix?: string };
  /** The kinds of credentials that it verifies, in words. */
  callers: readonly string[];
}

/** The agents of a service, and the task queue of its worker. */
export interface AnnouncedAgents {
  /** Undefined: no worker runs inside. */
  taskQueue?: string;
  agentsModule?: Pick<AgentsModule, 'agents' | 'programs'> | undefined;
}

/** Says where the service listens, whom it answers, and what to do next. */
export function announce(
  { output }: CommandIo,
  { server, connected, flags, callers }: Announced,
  { taskQueue, agentsModule }: AnnouncedAgents = {},
): void {
  const url = `${server.url}${flags.prefix ?? ''}`;
  const { address, namespace } = connected.server;
  const agents = agentsModule?.agents.map(({ name }) => name) ?? [];
  const programs = agentsModule?.programs.map(({ name }) => name) ?? [];
  if (output.json) {
    const parts = { ...(taskQueue === undefined ? {} : { taskQueue }), ...(agentsModule === undefined ? {} : { agents, programs }) };
    output.printJson({ url, address, namespace, callers, ...parts });
    return;
  }
  const served = [
    ...(agents.length === 0 ? [] : [`agents: ${agents.join(', ')}`]),
    ...(programs.length === 0 ? [] : [`programs: ${programs.join(', ')}`]),
  ].join('; ');
  output.print(`Listening at ${url} for ${address} (namespace "${namespace}")`);
  output.print(callers.length === 0 ? 'Callers: no authentication, this machine alone' : `Callers: ${callers.join(', ')}`);
  output.print(workerLine(taskQueue, served));
  const [agent = 'my-agent'] = agents;
  const header = callers.length === 0 ? '' : ` -H 'authorization: Bearer …'`;
  output.print(`\n  curl ${url}/v1/runs${header} --json '${JSON.stringify({ agent, input: '…' })}'`);
  output.print(`  curl -N ${url}/v1/runs/<run id>/stream${header}`);
  output.print(`  curl ${url}/v1/openapi.json`);
  output.print('\nCtrl-C ends it.');
}

function workerLine(taskQueue: string | undefined, served: string): string {
  if (taskQueue !== undefined) return `A worker inside polls task queue "${taskQueue}" with ${served}`;
  return served === '' ? 'Without --agents: other workers run what is started.' : `Without a worker inside: other ones run ${served}`;
}
