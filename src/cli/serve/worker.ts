import { loadAgentsModule } from '../input-files.ts';
import { commandTelemetry } from './metrics-page.ts';
import { checkNamespace, installQuietRuntime, serveAgents, workflowsFile } from './serve-agents.ts';
import { chosenCodec } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { chosenVersioning, flaggedLog } from '../options.ts';
import { defined } from '../../core/domain/json.ts';
import { streamsNotice } from '../../streams/stream-sink.ts';
import type { WORKER } from '../serve-commands.ts';

const DEFAULT_GRACE_MS = 300_000;

/** Runs a worker until SIGTERM or Ctrl-C, then drains it. */
export async function worker(io: CommandIo, flags: FlagsOf<typeof WORKER>): Promise<number> {
  const { output } = io;
  const versioning = chosenVersioning(flags);
  const log = flaggedLog(flags, io.terminal.env);
  const workflowsPath = workflowsFile(flags.workflows);
  const agentsModule = await loadAgentsModule(flags.agents, (line) => output.note(line));
  const server = await checkNamespace(io, flags);
  const { telemetry, created, close } = await commandTelemetry(output, flags, { agentsModule, hasWorker: true });
  await installQuietRuntime(output, log, telemetry?.page);
  try {
    return await serveAgents(io, {
      agentsModule,
      ...server,
      codec: chosenCodec(flags, io.terminal.env),
      ...defined({ taskQueue: flags.taskQueue, workflowsPath, versioning, telemetry }),
      graceMs: flags.grace ?? DEFAULT_GRACE_MS,
      created,
      ready: (taskQueue) => {
        const agents = agentsModule.agents.map((agent) => agent.name);
        const programs = agentsModule.programs.map((program) => program.name);
        if (output.json) return output.printJson({ ...server, taskQueue, agents, programs });
        const served = [
          ...(agents.length === 0 && programs.length > 0 ? [] : [`agents: ${agents.join(', ')}`]),
          ...(programs.length === 0 ? [] : [`programs: ${programs.join(', ')}`]),
        ];
        output.print(`Polling task queue "${taskQueue}" at ${server.address} (namespace "${server.namespace}") with ${served.join('; ')}`);
        const notice = streamsNotice(agentsModule.streams, 'worker');
        if (notice !== undefined) output.note(notice);
      },
    });
  } finally {
    await close();
  }
}
