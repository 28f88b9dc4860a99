import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { LonghaulClientOptions } from '../../../client/client-options.ts';
import { createHandler, type Handler, type HandlerOptions } from '../../../server/index.ts';
import { reportText } from '../../../server/problems/print-error.ts';
import { memoryStreams } from '../../../streams/memory-streams.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { actingPrincipal, userKeyOf } from '../../with-client.ts';
import type { AgentsModule } from '../agents-module.ts';

/** Returns the module with a sink: without one of its own, the worker shows live output to the readers of its process. */
export function withSink(agentsModule: AgentsModule): AgentsModule {
  return { ...agentsModule, more: { streams: memoryStreams(), ...agentsModule.more } };
}

/** Returns the options of the client of a service: with the stores of the agents, so that it exports and deletes whole runs. */
export function serviceClientOptions(
  { terminal, output }: CommandIo,
  flags: ServerFlags,
  agentsModule: AgentsModule | undefined,
): LonghaulClientOptions {
  const { payloadStore, archive, memory, more: { streams } = {} } = agentsModule ?? {};
  const principal = actingPrincipal(flags, terminal.env);
  const userKey = userKeyOf(terminal.env);
  return {
    ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
    ...(payloadStore === undefined ? {} : { payloadStore }),
    ...(archive === undefined ? {} : { archive }),
    ...(memory === undefined ? {} : { memory }),
    ...(streams === undefined ? {} : { streams }),
    ...(principal === undefined ? {} : { principal }),
    ...(userKey === undefined ? {} : { userKey }),
    onNotice: (line) => output.note(line),
  };
}

/** Returns the handler of a service, which lists the agents and programs of the module and tells the operator what goes wrong. */
export function serviceHandler(
  client: LonghaulClient,
  { output }: Pick<CommandIo, 'output'>,
  { agentsModule, ...options }: { agentsModule: AgentsModule | undefined } & HandlerOptions,
): Handler {
  return createHandler(client, {
    agents: agentsModule?.agents ?? [],
    programs: agentsModule?.programs ?? [],
    onError: (...failure) => output.note(reportText(...failure)),
    ...options,
  });
}
