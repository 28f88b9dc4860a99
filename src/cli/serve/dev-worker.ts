import { checkNamespace } from './check-namespace.ts';
import { loadAgentsModule } from './agents-module.ts';
import { chosenCodec } from '../program/codec-choice.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { bundleAt } from './dev-bundle.ts';
import { flaggedLog, type LogFlags } from '../program/log-flags.ts';
import { serveDevHttp } from './http/dev-http.ts';
import { withSink } from './http/agents-over-http.ts';
import { installQuietRuntime } from './quiet-runtime.ts';
import { sayBundling, serveAgents } from './serve-agents.ts';
import { workflowsFile } from './workflows-file.ts';

/** The options of `longhaul dev` that concern its worker. */
export interface DevWorkerFlags extends ServerFlags, LogFlags {
  agents: string;
  /** The module of the user's own workflows. */
  workflows?: string;
  /** The time that running calls may take to end at shutdown, in milliseconds. */
  grace?: number;
  /** The port of the HTTP service in the worker's process. Absent: there is none. */
  httpPort?: number;
}

/** The server of a session's worker. Plain data, because the worker may be another process. */
export interface DevWorkerLocation {
  address: string;
  namespace: string;
  /** True if the session started the server. */
  startedHere: boolean;
  /** The path of the workflow bundle, whether or not it exists yet. Without it, the worker creates its own bundle. */
  bundleFile?: string;
}

/** The message of a worker that has begun to poll. */
export interface DevWorkerReady {
  taskQueue: string;
  /** The address of the HTTP service. Absent: there is none. */
  httpUrl?: string;
  agents: string[];
  programs: string[];
}

const DEFAULT_GRACE_MS = 10_000;

/** Runs the worker of a session until the terminal's signal, then drains it. Returns the exit code. */
export async function serveDevWorker(
  io: CommandIo,
  {
    flags,
    location,
    ready,
  }: { flags: DevWorkerFlags; location: DevWorkerLocation; ready: (worker: DevWorkerReady) => void | Promise<void> },
): Promise<number> {
  const workflowsPath = workflowsFile(flags.workflows);
  const { httpPort } = flags;
  const loaded = await loadAgentsModule(flags.agents);
  // Without the service, the process has no reader.
  const agentsModule = httpPort === undefined ? loaded : withSink(loaded);
  await installQuietRuntime(io.output, flaggedLog(flags, io.terminal.env));
  const { address, namespace, startedHere, bundleFile } = location;
  const codec = chosenCodec(flags, io.terminal.env);
  const ofUser = workflowsPath === undefined ? {} : { workflowsPath };
  if (!startedHere) await checkNamespace(io, { address, namespace });
  // TLS settings and keys of the user's profile are for another server, not for one started here.
  const { NativeConnection } = await import('@temporalio/worker');
  const connection = startedHere ? await NativeConnection.connect({ address }) : undefined;
  const graceMs = flags.grace ?? DEFAULT_GRACE_MS;
  const http =
    httpPort === undefined ? undefined : await serveDevHttp(io, { flags: { ...flags, httpPort }, location, agentsModule, graceMs });
  try {
    return await serveAgents(io, {
      agentsModule,
      ...(connection === undefined ? { address } : { connection }),
      namespace,
      codec,
      ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
      ...(bundleFile === undefined
        ? ofUser
        : { worker: { workflowBundle: await bundleAt(bundleFile, { ...ofUser, codec, begins: () => sayBundling(io.output) }) } }),
      graceMs,
      ready: async (taskQueue) => {
        const httpUrl = await http?.url;
        await ready({
          taskQueue,
          ...(httpUrl === undefined ? {} : { httpUrl }),
          agents: agentsModule.agents.map((agent) => agent.name),
          programs: agentsModule.programs.map((program) => program.name),
        });
      },
    });
  } finally {
    await http?.close();
    // A worker that failed may still use the connection; the process ends in any case.
    await connection?.close().catch(() => undefined);
  }
}
