import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { Isolation } from '../../../activities/executors/python/check-python.ts';
import { unreachable } from '../../client/longhaul-client.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { DEFAULT_TASK_QUEUE } from '../../core/protocol.ts';
import type { ExecutorDefinition } from '../../define/code.ts';
import { GRPC, grpcCode } from '../../temporal/server-calls.ts';
import { resolveServer } from '../../temporal/server-connection.ts';
import type { ServerFlags } from '../define-command.ts';
import { type AgentsModule, loadAgentsModule } from '../input-files.ts';

/** The time that a check may take, in milliseconds. All run at once. */
export const CHECK_MS = 3_000;

/** How long the agents module may take to load, before all checks: loading may block this process. */
const LOAD_MS = 4_000;

/** The time for shared prerequisites: shorter, so that checks can still report that one is missing. */
export const PREREQUISITE_MS = 2_500;

/** The machine as the checks see it, so that tests can examine another one. */
export interface Machine {
  env: NodeJS.ProcessEnv;
  /** The folder of the project. */
  folder: string;
  nodeVersion: string;
  /** True if this Node loads TypeScript directly. */
  loadsTypeScript: boolean;
  /** The isolation of Python code, if it is not in the usual places. */
  isolation?: Partial<Isolation>;
  /** The executor of JavaScript, if it is not QuickJS. */
  javascript?: ExecutorDefinition;
  /** The ports that `longhaul dev` takes if they are free. */
  ports: readonly number[];
  /** Asks a person; undefined if nobody can be asked. */
  ask: ((question: string) => Promise<boolean>) | undefined;
}

/** The options that the checks use. */
export interface ExaminationFlags extends ServerFlags {
  agents?: string;
  live?: boolean;
  codecEndpoint?: string;
}

/** The user's agents, why they cannot be loaded, or that there are none to check. */
type LoadedAgents =
  | { state: 'loaded'; module: AgentsModule; path: string; notices: readonly string[] }
  | { state: 'failed'; reason: string; path: string }
  | { state: 'absent' };

/** One examination of an installation: shared prerequisites are made once, when a check first needs them. */
export class Examination {
  readonly machine: Machine;
  readonly flags: ExaminationFlags;
  /** The secrets that checks have read, by name: no report may contain them. */
  readonly secrets: Record<string, string>;
  #agents: Promise<LoadedAgents> | undefined;
  #server: Promise<ServerState> | undefined;

  constructor(machine: Machine, flags: ExaminationFlags, secrets: Record<string, string>) {
    this.machine = machine;
    this.flags = flags;
    this.secrets = secrets;
  }

  /** The path of the agents module: from the option, or `./agents.ts` if it exists. */
  get agentsPath(): string | undefined {
    const usual = join(this.machine.folder, 'agents.ts');
    return this.flags.agents ?? (existsSync(usual) ? usual : undefined);
  }

  get agents(): Promise<LoadedAgents> {
    return (this.#agents ??= this.#loadAgents());
  }

  get server(): Promise<ServerState> {
    return (this.#server ??= connectToServer(this.flags, PREREQUISITE_MS));
  }

  async close(): Promise<void> {
    const server = await Promise.race([this.#server, delay(100, undefined, { ref: false })]);
    if (server?.state === 'up') await server.connection.close().catch(() => undefined);
  }

  async #loadAgents(): Promise<LoadedAgents> {
    const path = this.agentsPath;
    if (path === undefined) return { state: 'absent' };
    if (!this.machine.loadsTypeScript && /^\.[mc]?ts$/.test(extname(path))) return { state: 'absent' };
    const late = delay(LOAD_MS, undefined, { ref: false });
    try {
      const notices: string[] = [];
      const module = await Promise.race([loadAgentsModule(path, (line) => notices.push(line)), late]);
      if (module === undefined)
        return { state: 'failed', reason: `The agents module "${path}" does not load within ${LOAD_MS / 1000} s`, path };
      return { state: 'loaded', module, path, notices };
    } catch (error) {
      return { state: 'failed', reason: errorMessage(error), path };
    }
  }
}

/** The result of a check. `skipped`: it does not concern this installation, or something that it needs has failed. */
export type CheckStatus = 'ok' | 'warn' | 'fail' | 'skipped';

/** A change that `--fix` makes: it has a description, and can be undone. */
export interface Fix {
  /** What the check has done, in one sentence. */
  done: string;
  /** The command that undoes it. */
  undo: string;
  apply(): Promise<void>;
}

/** The result of a check: one sentence, and the one command that helps. */
export interface Finding {
  status: CheckStatus;
  summary: string;
  command?: string;
  fix?: Fix;
}

/** One check, with the name that reports and tests use. */
interface Check {
  name: string;
  run: (examination: Examination) => Promise<Finding> | Finding;
}

/** Checks under one heading. */
export interface CheckGroup {
  heading: string;
  checks: readonly Check[];
}

export function ok(summary: string): Finding {
  return { status: 'ok', summary };
}

export function skipped(summary: string): Finding {
  return { status: 'skipped', summary };
}

export function warn(summary: string, command?: string, fix?: Fix): Finding {
  return finding('warn', summary, command, fix);
}

export function fail(summary: string, command?: string, fix?: Fix): Finding {
  return finding('fail', summary, command, fix);
}

function finding(status: CheckStatus, summary: string, command: string | undefined, fix: Fix | undefined): Finding {
  return { status, summary, ...(command === undefined ? {} : { command }), ...(fix === undefined ? {} : { fix }) };
}

/** A server that answers, and what it reports about itself. */
export interface AnsweringServer {
  state: 'up';
  connection: Connection;
  address: string;
  namespace: string;
  taskQueue: string;
  version: string;
  /** Milliseconds by which the server's clock is ahead of this machine's; undefined if no answer had a time. */
  aheadMs: () => number | undefined;
  /** The namespace as the server describes it, or why it does not. */
  described: Promise<DescribedNamespace>;
}

/** The namespace as far as the checks need it. */
type DescribedNamespace =
  | { state: 'found'; retentionDays: number | undefined }
  | { state: 'missing' | 'refused' | 'failed'; reason: string };

type ServerState = AnsweringServer | { state: 'down'; address: string; reason: string } | { state: 'misconfigured'; reason: string };

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

/** Connects to the server that the flags and the environment name. Never rejects. */
async function connectToServer(flags: ServerFlags, withinMs: number): Promise<ServerState> {
  let server: ReturnType<typeof resolveServer>;
  try {
    server = resolveServer(defined({ address: flags.address, namespace: flags.namespace }));
  } catch (error) {
    return { state: 'misconfigured', reason: errorMessage(error).split('\n')[0] ?? '' };
  }
  const { connection: options, namespace } = server;
  const clock: ServerClock = { aheadMs: undefined };
  const until = Date.now() + withinMs;
  try {
    const connection = await Connection.connect({
      ...options,
      connectTimeout: withinMs,
      // Checks report the first response: a retry would only hide that the server refuses calls.
      interceptors: [readDates(clock)],
    });
    const { serverVersion } = await connection.withDeadline(until, () => connection.workflowService.getSystemInfo({}));
    return {
      state: 'up',
      connection,
      address: options.address,
      namespace,
      taskQueue: flags.taskQueue ?? DEFAULT_TASK_QUEUE,
      version: serverVersion || 'an unknown version',
      aheadMs: () => clock.aheadMs,
      described: describe(connection, namespace, withinMs),
    };
  } catch (error) {
    return { state: 'down', address: options.address, reason: unreachable(options.address, error) };
  }
}

async function describe(connection: Connection, namespace: string, withinMs: number): Promise<DescribedNamespace> {
  try {
    const { config } = await connection.withDeadline(Date.now() + withinMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    const seconds = config?.workflowExecutionRetentionTtl?.seconds;
    return { state: 'found', retentionDays: seconds === undefined || seconds === null ? undefined : Number(seconds) / 86_400 };
  } catch (error) {
    const reason = errorMessage(error);
    const code = grpcCode(error);
    if (code === GRPC.notFound) return { state: 'missing', reason };
    return { state: code === GRPC.notAllowed || code === GRPC.unauthenticated ? 'refused' : 'failed', reason };
  }
}

interface ServerClock {
  aheadMs: number | undefined;
}

const once = makeGrpcRetryInterceptor({ ...defaultGrpcRetryOptions(), retryableDecider: () => false });

/** Reads the server's time from the header `date`, which proxies in front of it send, such as Temporal Cloud's. */
function readDates(clock: ServerClock): Interceptor {
  return (options, next) =>
    once(options, (inner) => {
      const call = next(inner);
      const start = call.start.bind(call);
      call.start = (metadata, listener) =>
        start(metadata, {
          // The methods of a listener may be inherited from its class.
          onReceiveMessage: (message) => listener?.onReceiveMessage?.(message),
          onReceiveStatus: (status) => listener?.onReceiveStatus?.(status),
          onReceiveMetadata: (received) => {
            const time = Date.parse(String(received.get('date')[0]));
            // The header has whole seconds.
            if (!Number.isNaN(time)) clock.aheadMs = time - Date.now();
            listener?.onReceiveMetadata?.(received);
          },
        });
      return call;
    });
}

/** Returns a path as a shell word. Without quotes: a report writes the user's folder as `~`, which a shell does not expand in quotes. */
export function pathWord(path: string): string {
  return path.replaceAll(/[^\w@%+=:,./~-]/g, String.raw`\$&`);
}
