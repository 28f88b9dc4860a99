import { loadAgentsModule } from './agents-module.ts';
import { checkNamespace } from './check-namespace.ts';
import { chosenCodec } from '../program/codec-choice.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { flaggedLog, type LogFlags } from '../program/log-flags.ts';
import { installQuietRuntime } from './quiet-runtime.ts';
import { serveAgents } from './serve-agents.ts';
import { chosenVersioning, type VersioningFlags } from '../program/versioning-choice.ts';
import { streamsNotice } from '../../streams/stream-sink.ts';
import { workflowsFile } from './workflows-file.ts';

/** The options of `longhaul worker`. */
export interface WorkerFlags extends ServerFlags, VersioningFlags, LogFlags {
  agents: string;
  /** The module of the user's own workflows. */
  workflows?: string;
  /** The time that running calls may take to end at shutdown, in milliseconds. */
  grace?: number;
}

const DEFAULT_GRACE_MS = 300_000;

/** Runs a worker until SIGTERM or Ctrl-C, then drains it. */
export async function worker(io: CommandIo, flags: WorkerFlags): Promise<number> {
  const { output } = io;
  const versioning = chosenVersioning(flags);
  const log = flaggedLog(flags, io.terminal.env);
  const workflowsPath = workflowsFile(flags.workflows);
  const agentsModule = await loadAgentsModule(flags.agents);
  const server = await checkNamespace(io, flags);
  await installQuietRuntime(output, log);
  return await serveAgents(io, {
    agentsModule,
    ...server,
    codec: chosenCodec(flags, io.terminal.env),
    ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
    ...(workflowsPath === undefined ? {} : { workflowsPath }),
    ...(versioning === undefined ? {} : { versioning }),
    graceMs: flags.grace ?? DEFAULT_GRACE_MS,
    ready: (taskQueue) => {
      const agents = agentsModule.agents.map((agent) => agent.name);
      const programs = agentsModule.programs.map((program) => program.name);
      if (output.json) return output.printJson({ ...server, taskQueue, agents, programs });
      const served = [
        ...(agents.length === 0 && programs.length > 0 ? [] : [`agents: ${agents.join(', ')}`]),
        ...(programs.length === 0 ? [] : [`programs: ${programs.join(', ')}`]),
      ];
      output.print(`Polling task queue "${taskQueue}" at ${server.address} (namespace "${server.namespace}") with ${served.join('; ')}`);
      const notice = streamsNotice(agentsModule.more.streams, 'worker');
      if (notice !== undefined) output.note(notice);
    },
  });
}
